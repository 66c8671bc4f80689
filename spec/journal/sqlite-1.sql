-- A store of tables version 1: `ticket-7` waits for two answers, `ticket-8` is done.
-- @DESK@ stands for the folder of the plan.

CREATE TABLE threads(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  family INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  owner TEXT NOT NULL,
  last_seq INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE TABLE chains(
  id INTEGER PRIMARY KEY,
  thread INTEGER NOT NULL REFERENCES threads(id),
  branch TEXT NOT NULL,
  namespace TEXT NOT NULL,
  head INTEGER,
  UNIQUE(thread, branch, namespace)
) STRICT;
CREATE TABLE records(
  thread INTEGER NOT NULL REFERENCES threads(id),
  seq INTEGER NOT NULL,
  chain INTEGER NOT NULL REFERENCES chains(id),
  parent INTEGER,
  branch TEXT NOT NULL,
  key TEXT,
  kind TEXT NOT NULL,
  version INTEGER NOT NULL,
  run TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  at INTEGER NOT NULL,
  effect TEXT,
  digest BLOB,
  body BLOB,
  content BLOB,
  PRIMARY KEY(thread, seq)
) STRICT;
CREATE UNIQUE INDEX records_key ON records(thread, branch, key) WHERE key IS NOT NULL;
CREATE INDEX records_content ON records(content) WHERE content IS NOT NULL;
CREATE TABLE messages(
  place INTEGER PRIMARY KEY,
  family INTEGER NOT NULL,
  name TEXT NOT NULL,
  body BLOB,
  content BLOB,
  UNIQUE(family, name)
) STRICT;
CREATE INDEX messages_content ON messages(content) WHERE content IS NOT NULL;
CREATE TABLE contents(
  family INTEGER NOT NULL,
  digest BLOB NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY(family, digest)
) STRICT;

INSERT INTO threads VALUES(1, 'ticket-7', 1, 1, '{"process":13744,"since_ms":1795852482493}', 20, 1795852482499, 1795852482520);
INSERT INTO threads VALUES(2, 'ticket-8', 2, 1, '{"process":13749,"since_ms":1795852482564}', 23, 1795852482565, 1795852482581);
INSERT INTO chains VALUES(1, 1, 'main', '', 20);
INSERT INTO chains VALUES(2, 1, 'main', 'triage:1.0', 4);
INSERT INTO chains VALUES(3, 1, 'main', 'refunds:2.0', 16);
INSERT INTO chains VALUES(4, 1, 'main', 'carrier:2.1', 19);
INSERT INTO chains VALUES(5, 2, 'main', '', 23);
INSERT INTO chains VALUES(6, 2, 'main', 'triage:1.0', 4);
INSERT INTO chains VALUES(7, 2, 'main', 'refunds:2.0', 15);
INSERT INTO chains VALUES(8, 2, 'main', 'carrier:2.1', 17);
INSERT INTO chains VALUES(9, 2, 'main', 'reply:3.0', 21);
INSERT INTO contents VALUES(1, X'75c0c502a36a7e09e2e50adfc1aa45461943aa457c5c2e6a49d639cab6559872', CAST('{"blueprint":{"channels":[{"name":"messages","reducer":"messages"},{"name":"topic","reducer":"overwrite"}],"name":"support","nodes":[{"kind":{"agent":{"model":"default","output":"topic","prompt":"Triage. Answer with one word: refund or other.","tools":[]}},"name":"triage","way":{"routes":[{"label":"refund","targets":["refunds","carrier"]},{"label":"other","targets":["reply"]}]}},{"kind":{"agent":{"model":"default","prompt":"Refund clerk. Look the order up; refund it in full if it is paid.","tools":["lookup_order","refund"]}},"name":"refunds","way":{"next":["reply"]}},{"kind":{"agent":{"model":"default","prompt":"Carrier clerk. Look the order up; open a claim if it was shipped.","tools":["lookup_order","open_claim"]}},"name":"carrier","way":{"next":["reply"]}},{"kind":{"agent":{"model":"default","prompt":"Reply. One short answer to the customer.","tools":[]}},"name":"reply","way":{"next":["END"]}}],"recursion_limit":20,"start":["triage"],"version":1},"tools":[{"description":"Find an order by its number.","effect":"repeatable","input_schema":{"additionalProperties":false,"properties":{"order":{"pattern":"^[A-Z]-[0-9]{4}$","type":"string"}},"required":["order"],"type":"object"},"max_output_bytes":65536,"name":"lookup_order","timeout":{"nanos":0,"secs":30}},{"approval":"ask","description":"Open a claim with the carrier.","effect":"once","input_schema":{"additionalProperties":false,"properties":{"order":{"type":"string"}},"required":["order"],"type":"object"},"max_output_bytes":65536,"name":"open_claim","timeout":{"nanos":0,"secs":30}},{"approval":"ask","description":"Pay the full price of a paid order back.","effect":"once","input_schema":{"additionalProperties":false,"properties":{"amount_cents":{"minimum":1,"type":"integer"},"order":{"type":"string"}},"required":["order","amount_cents"],"type":"object"},"max_output_bytes":16384,"name":"refund","timeout":{"nanos":0,"secs":5}}],"version":1}' AS BLOB));
INSERT INTO contents VALUES(2, X'75c0c502a36a7e09e2e50adfc1aa45461943aa457c5c2e6a49d639cab6559872', CAST('{"blueprint":{"channels":[{"name":"messages","reducer":"messages"},{"name":"topic","reducer":"overwrite"}],"name":"support","nodes":[{"kind":{"agent":{"model":"default","output":"topic","prompt":"Triage. Answer with one word: refund or other.","tools":[]}},"name":"triage","way":{"routes":[{"label":"refund","targets":["refunds","carrier"]},{"label":"other","targets":["reply"]}]}},{"kind":{"agent":{"model":"default","prompt":"Refund clerk. Look the order up; refund it in full if it is paid.","tools":["lookup_order","refund"]}},"name":"refunds","way":{"next":["reply"]}},{"kind":{"agent":{"model":"default","prompt":"Carrier clerk. Look the order up; open a claim if it was shipped.","tools":["lookup_order","open_claim"]}},"name":"carrier","way":{"next":["reply"]}},{"kind":{"agent":{"model":"default","prompt":"Reply. One short answer to the customer.","tools":[]}},"name":"reply","way":{"next":["END"]}}],"recursion_limit":20,"start":["triage"],"version":1},"tools":[{"description":"Find an order by its number.","effect":"repeatable","input_schema":{"additionalProperties":false,"properties":{"order":{"pattern":"^[A-Z]-[0-9]{4}$","type":"string"}},"required":["order"],"type":"object"},"max_output_bytes":65536,"name":"lookup_order","timeout":{"nanos":0,"secs":30}},{"approval":"ask","description":"Open a claim with the carrier.","effect":"once","input_schema":{"additionalProperties":false,"properties":{"order":{"type":"string"}},"required":["order"],"type":"object"},"max_output_bytes":65536,"name":"open_claim","timeout":{"nanos":0,"secs":30}},{"approval":"ask","description":"Pay the full price of a paid order back.","effect":"once","input_schema":{"additionalProperties":false,"properties":{"amount_cents":{"minimum":1,"type":"integer"},"order":{"type":"string"}},"required":["order","amount_cents"],"type":"object"},"max_output_bytes":16384,"name":"refund","timeout":{"nanos":0,"secs":5}}],"version":1}' AS BLOB));
INSERT INTO messages VALUES(1, 1, 'm-1', CAST('{"id":"m-1","role":"user","content":[{"type":"text","text":"Please refund A-1042"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(2, 1, 'm-2', CAST('{"id":"m-2","role":"assistant","content":[{"type":"text","text":"refund"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(3, 1, 'm-3', CAST('{"id":"m-3","role":"assistant","content":[],"calls":[{"id":"c-1","name":"lookup_order","arguments":"{\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(4, 1, 'm-4', CAST('{"id":"m-4","role":"assistant","content":[],"calls":[{"id":"c-2","name":"lookup_order","arguments":"{\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(5, 1, 'm-5', CAST('{"id":"m-5","role":"tool","call":"c-1","tool":"lookup_order","status":"ok","content":[{"type":"text","text":"{\"rows\":[{\"claim\":null,\"id\":\"A-1042\",\"paid_cents\":12900,\"status\":\"paid\"}]}"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(6, 1, 'm-6', CAST('{"id":"m-6","role":"tool","call":"c-2","tool":"lookup_order","status":"ok","content":[{"type":"text","text":"{\"rows\":[{\"claim\":null,\"id\":\"A-1042\",\"paid_cents\":12900,\"status\":\"paid\"}]}"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(7, 1, 'm-7', CAST('{"id":"m-7","role":"assistant","content":[],"calls":[{"id":"c-3","name":"refund","arguments":"{\"amount_cents\":12900,\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(8, 1, 'm-8', CAST('{"id":"m-8","role":"assistant","content":[],"calls":[{"id":"c-4","name":"open_claim","arguments":"{\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(9, 2, 'm-1', CAST('{"id":"m-1","role":"user","content":[{"type":"text","text":"Please refund B-2002"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(10, 2, 'm-2', CAST('{"id":"m-2","role":"assistant","content":[{"type":"text","text":"refund"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(11, 2, 'm-3', CAST('{"id":"m-3","role":"assistant","content":[],"calls":[{"id":"c-1","name":"lookup_order","arguments":"{\"order\":\"B-2002\"}","wire_id":"call_1"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(12, 2, 'm-4', CAST('{"id":"m-4","role":"assistant","content":[],"calls":[{"id":"c-2","name":"lookup_order","arguments":"{\"order\":\"B-2002\"}","wire_id":"call_1"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(13, 2, 'm-5', CAST('{"id":"m-5","role":"tool","call":"c-1","tool":"lookup_order","status":"ok","content":[{"type":"text","text":"{\"rows\":[{\"claim\":null,\"id\":\"B-2002\",\"paid_cents\":2900,\"status\":\"delivered\"}]}"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(14, 2, 'm-6', CAST('{"id":"m-6","role":"tool","call":"c-2","tool":"lookup_order","status":"ok","content":[{"type":"text","text":"{\"rows\":[{\"claim\":null,\"id\":\"B-2002\",\"paid_cents\":2900,\"status\":\"delivered\"}]}"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(15, 2, 'm-7', CAST('{"id":"m-7","role":"assistant","content":[{"type":"text","text":"Order B-2002 is delivered, so there is nothing to pay back."}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(16, 2, 'm-8', CAST('{"id":"m-8","role":"assistant","content":[{"type":"text","text":"No claim is needed."}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(17, 2, 'm-9', CAST('{"id":"m-9","role":"assistant","content":[{"type":"text","text":"Order B-2002 is delivered, so there is nothing to pay back. No claim is needed."}]}' AS BLOB), NULL);
INSERT INTO records VALUES(1, 1, 1, NULL, 'main', NULL, 'run.opened', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482502, NULL, NULL, CAST('{"target":{"plan":"@DESK@/support.rag","config":"@DESK@/rustagents.toml"},"definition":"75c0c502a36a7e09e2e50adfc1aa45461943aa457c5c2e6a49d639cab6559872","limits":{"steps":50,"model_calls":100,"tool_calls":200,"driven":{"secs":600,"nanos":0}},"input":"m-1"}' AS BLOB), NULL);
INSERT INTO records VALUES(1, 2, 1, 1, 'main', NULL, 'graph.checkpoint', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482502, NULL, NULL, CAST('{"checkpoint":1,"step":0,"source":"input","deltas":[["messages",{"messages":["m-1"]}]],"done":[],"next":[{"task":"triage:1.0","node":"triage"}]}' AS BLOB), NULL);
INSERT INTO records VALUES(1, 3, 2, NULL, 'main', 'model/triage:1.0/1', 'effect.result', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482506, 'repeatable', X'f8e766b819bd0178863265d4a8213f57429ffec3c7626b555071bfe715c9e453', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"f8e766b819bd0178863265d4a8213f57429ffec3c7626b555071bfe715c9e453","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":17,"output_tokens":2,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-2"}' AS BLOB), NULL);
INSERT INTO records VALUES(1, 4, 2, NULL, 'main', NULL, 'agent.transition', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482506, NULL, NULL, CAST('{"to":"completed","turn":1,"message":"m-2","label":"refund"}' AS BLOB), NULL);
INSERT INTO records VALUES(1, 5, 1, 2, 'main', NULL, 'graph.checkpoint', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482507, NULL, NULL, CAST('{"checkpoint":2,"step":1,"source":"step","deltas":[["topic",{"set":"refund"}]],"done":["triage:1.0"],"next":[{"task":"refunds:2.0","node":"refunds"},{"task":"carrier:2.1","node":"carrier"}]}' AS BLOB), NULL);
INSERT INTO records VALUES(1, 6, 3, NULL, 'main', 'model/refunds:2.0/1', 'effect.result', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482509, 'repeatable', X'745568c5d1efd1d0c65bf99456abdc1bfb682d39109fd5faef3bc650741b7792', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"745568c5d1efd1d0c65bf99456abdc1bfb682d39109fd5faef3bc650741b7792","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":22,"output_tokens":8,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-3"}' AS BLOB), NULL);
INSERT INTO records VALUES(1, 7, 3, NULL, 'main', NULL, 'agent.transition', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482509, NULL, NULL, CAST('{"to":"acting","turn":1,"message":"m-3"}' AS BLOB), NULL);
INSERT INTO records VALUES(1, 8, 4, NULL, 'main', 'model/carrier:2.1/1', 'effect.result', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482509, 'repeatable', X'938a6922e5d0800852ec76f94f65aa7327877426bb9e2be417c4ce5d51fe5ead', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"938a6922e5d0800852ec76f94f65aa7327877426bb9e2be417c4ce5d51fe5ead","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":22,"output_tokens":8,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-4"}' AS BLOB), NULL);
INSERT INTO records VALUES(1, 9, 4, NULL, 'main', NULL, 'agent.transition', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482509, NULL, NULL, CAST('{"to":"acting","turn":1,"message":"m-4"}' AS BLOB), NULL);
INSERT INTO records VALUES(1, 10, 3, NULL, 'main', 'call/c-1/result', 'effect.result', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482515, 'repeatable', X'6e8e0587875a1e75b2a78b4e7aeb349c8c5b83323fd595ec2fd681ca50624dab', CAST('{"call":"c-1","tool":"lookup_order","end":"done","message":"m-5"}' AS BLOB), NULL);
INSERT INTO records VALUES(1, 11, 3, 7, 'main', NULL, 'agent.transition', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482515, NULL, NULL, CAST('{"to":"observing","turn":1,"results":["m-5"]}' AS BLOB), NULL);
INSERT INTO records VALUES(1, 12, 4, NULL, 'main', 'call/c-2/result', 'effect.result', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482516, 'repeatable', X'6e8e0587875a1e75b2a78b4e7aeb349c8c5b83323fd595ec2fd681ca50624dab', CAST('{"call":"c-2","tool":"lookup_order","end":"done","message":"m-6"}' AS BLOB), NULL);
INSERT INTO records VALUES(1, 13, 4, 9, 'main', NULL, 'agent.transition', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482516, NULL, NULL, CAST('{"to":"observing","turn":1,"results":["m-6"]}' AS BLOB), NULL);
INSERT INTO records VALUES(1, 14, 3, NULL, 'main', 'model/refunds:2.0/2', 'effect.result', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482518, 'repeatable', X'2d23b931a7a958a387099a89cb9d433f2bf58b740a70b5d2dc065eecf510a92b', CAST('{"turn":2,"tries":1,"model":"scripted:script.toml","request":"2d23b931a7a958a387099a89cb9d433f2bf58b740a70b5d2dc065eecf510a92b","edit":{"keep":1,"insert":["m-3","m-5"]},"usage":{"input_tokens":48,"output_tokens":12,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-7"}' AS BLOB), NULL);
INSERT INTO records VALUES(1, 15, 3, NULL, 'main', 'ask/c-3', 'ask.raised', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482518, 'once', X'39bb57d6c5fbd77490b4a1ab928c767aed92e77aa2cbd30b9f7e2251d17a615c', CAST('{"id":"c-3","node":"refunds","prompt":"Refund 12900 cents for A-1042","kind":"approval","call":"c-3","tool":"refund","effect":"once","arguments":{"amount_cents":12900,"order":"A-1042"},"hash":"39bb57d6c5fbd77490b4a1ab928c767aed92e77aa2cbd30b9f7e2251d17a615c"}' AS BLOB), NULL);
INSERT INTO records VALUES(1, 16, 3, 11, 'main', NULL, 'agent.transition', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482518, NULL, NULL, CAST('{"to":"acting","turn":2,"message":"m-7"}' AS BLOB), NULL);
INSERT INTO records VALUES(1, 17, 4, NULL, 'main', 'model/carrier:2.1/2', 'effect.result', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482519, 'repeatable', X'0eec4615d647d01b4df13fec1bd792d5979489f995040b61f121c33b586fb20e', CAST('{"turn":2,"tries":1,"model":"scripted:script.toml","request":"0eec4615d647d01b4df13fec1bd792d5979489f995040b61f121c33b586fb20e","edit":{"keep":1,"insert":["m-4","m-6"]},"usage":{"input_tokens":48,"output_tokens":7,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-8"}' AS BLOB), NULL);
INSERT INTO records VALUES(1, 18, 4, NULL, 'main', 'ask/c-4', 'ask.raised', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482519, 'once', X'6e8e0587875a1e75b2a78b4e7aeb349c8c5b83323fd595ec2fd681ca50624dab', CAST('{"id":"c-4","node":"carrier","prompt":"open_claim {\"order\":\"A-1042\"}","kind":"approval","call":"c-4","tool":"open_claim","effect":"once","arguments":{"order":"A-1042"},"hash":"6e8e0587875a1e75b2a78b4e7aeb349c8c5b83323fd595ec2fd681ca50624dab"}' AS BLOB), NULL);
INSERT INTO records VALUES(1, 19, 4, 13, 'main', NULL, 'agent.transition', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482519, NULL, NULL, CAST('{"to":"acting","turn":2,"message":"m-8"}' AS BLOB), NULL);
INSERT INTO records VALUES(1, 20, 1, 5, 'main', NULL, 'run.suspended', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482520, NULL, NULL, CAST('{"asks":["c-3","c-4"]}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 1, 5, NULL, 'main', NULL, 'run.opened', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482568, NULL, NULL, CAST('{"target":{"plan":"@DESK@/support.rag","config":"@DESK@/rustagents.toml"},"definition":"75c0c502a36a7e09e2e50adfc1aa45461943aa457c5c2e6a49d639cab6559872","limits":{"steps":50,"model_calls":100,"tool_calls":200,"driven":{"secs":600,"nanos":0}},"input":"m-1"}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 2, 5, 1, 'main', NULL, 'graph.checkpoint', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482568, NULL, NULL, CAST('{"checkpoint":1,"step":0,"source":"input","deltas":[["messages",{"messages":["m-1"]}]],"done":[],"next":[{"task":"triage:1.0","node":"triage"}]}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 3, 6, NULL, 'main', 'model/triage:1.0/1', 'effect.result', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482570, 'repeatable', X'425d925d435e243fc5924b87c17757dccf0f9ebbbb0b20a584e8cdf6103e3fe2', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"425d925d435e243fc5924b87c17757dccf0f9ebbbb0b20a584e8cdf6103e3fe2","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":17,"output_tokens":2,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-2"}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 4, 6, NULL, 'main', NULL, 'agent.transition', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482570, NULL, NULL, CAST('{"to":"completed","turn":1,"message":"m-2","label":"refund"}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 5, 5, 2, 'main', NULL, 'graph.checkpoint', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482571, NULL, NULL, CAST('{"checkpoint":2,"step":1,"source":"step","deltas":[["topic",{"set":"refund"}]],"done":["triage:1.0"],"next":[{"task":"refunds:2.0","node":"refunds"},{"task":"carrier:2.1","node":"carrier"}]}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 6, 7, NULL, 'main', 'model/refunds:2.0/1', 'effect.result', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482573, 'repeatable', X'790a22132b7a2feb8023451c6034204bbcc033fc48faf9b2cb1cda4bcca68293', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"790a22132b7a2feb8023451c6034204bbcc033fc48faf9b2cb1cda4bcca68293","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":22,"output_tokens":8,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-3"}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 7, 7, NULL, 'main', NULL, 'agent.transition', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482573, NULL, NULL, CAST('{"to":"acting","turn":1,"message":"m-3"}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 8, 8, NULL, 'main', 'model/carrier:2.1/1', 'effect.result', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482573, 'repeatable', X'86c96c89fde78ff75d15d4d75efd89b91da5d7035fe9b04e7b440215ecb670ed', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"86c96c89fde78ff75d15d4d75efd89b91da5d7035fe9b04e7b440215ecb670ed","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":22,"output_tokens":8,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-4"}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 9, 8, NULL, 'main', NULL, 'agent.transition', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482573, NULL, NULL, CAST('{"to":"acting","turn":1,"message":"m-4"}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 10, 7, NULL, 'main', 'call/c-1/result', 'effect.result', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482575, 'repeatable', X'81cbe4ed90e86adbc7a59b57a362f1ecac7066661f60ea49087426571604f6e8', CAST('{"call":"c-1","tool":"lookup_order","end":"done","message":"m-5"}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 11, 7, 7, 'main', NULL, 'agent.transition', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482575, NULL, NULL, CAST('{"to":"observing","turn":1,"results":["m-5"]}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 12, 8, NULL, 'main', 'call/c-2/result', 'effect.result', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482575, 'repeatable', X'81cbe4ed90e86adbc7a59b57a362f1ecac7066661f60ea49087426571604f6e8', CAST('{"call":"c-2","tool":"lookup_order","end":"done","message":"m-6"}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 13, 8, 9, 'main', NULL, 'agent.transition', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482575, NULL, NULL, CAST('{"to":"observing","turn":1,"results":["m-6"]}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 14, 7, NULL, 'main', 'model/refunds:2.0/2', 'effect.result', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482576, 'repeatable', X'1b106fe502705567bb657f7f33e7375f30a24c223795b058d9e78180716c689f', CAST('{"turn":2,"tries":1,"model":"scripted:script.toml","request":"1b106fe502705567bb657f7f33e7375f30a24c223795b058d9e78180716c689f","edit":{"keep":1,"insert":["m-3","m-5"]},"usage":{"input_tokens":49,"output_tokens":15,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-7"}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 15, 7, 11, 'main', NULL, 'agent.transition', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482576, NULL, NULL, CAST('{"to":"completed","turn":2,"message":"m-7"}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 16, 8, NULL, 'main', 'model/carrier:2.1/2', 'effect.result', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482577, 'repeatable', X'b22c6c13e33e7d41a3e3022c36312254f036842e80a386441b27e7aa517ba408', CAST('{"turn":2,"tries":1,"model":"scripted:script.toml","request":"b22c6c13e33e7d41a3e3022c36312254f036842e80a386441b27e7aa517ba408","edit":{"keep":1,"insert":["m-4","m-6"]},"usage":{"input_tokens":49,"output_tokens":5,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-8"}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 17, 8, 13, 'main', NULL, 'agent.transition', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482577, NULL, NULL, CAST('{"to":"completed","turn":2,"message":"m-8"}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 18, 5, NULL, 'main', 'write/refunds:2.0', 'graph.write', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482577, NULL, NULL, CAST('{"deltas":[["messages",{"messages":["m-3","m-5","m-7"]}]]}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 19, 5, 5, 'main', NULL, 'graph.checkpoint', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482579, NULL, NULL, CAST('{"checkpoint":3,"step":2,"source":"step","deltas":[["messages",{"messages":["m-3","m-5","m-7"]}],["messages",{"messages":["m-4","m-6","m-8"]}]],"done":["refunds:2.0","carrier:2.1"],"next":[{"task":"reply:3.0","node":"reply"}]}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 20, 9, NULL, 'main', 'model/reply:3.0/1', 'effect.result', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482580, 'repeatable', X'8cf5ff5343d77001f396093304fd1bb2a5d1e0fb8d6406cea144432864b88f96', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"8cf5ff5343d77001f396093304fd1bb2a5d1e0fb8d6406cea144432864b88f96","edit":{"keep":0,"insert":["m-1","m-3","m-5","m-7","m-4","m-6","m-8"]},"usage":{"input_tokens":89,"output_tokens":20,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-9"}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 21, 9, NULL, 'main', NULL, 'agent.transition', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482580, NULL, NULL, CAST('{"to":"completed","turn":1,"message":"m-9"}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 22, 5, 19, 'main', NULL, 'graph.checkpoint', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482581, NULL, NULL, CAST('{"checkpoint":4,"step":3,"source":"step","deltas":[["messages",{"messages":["m-9"]}]],"done":["reply:3.0"],"next":[]}' AS BLOB), NULL);
INSERT INTO records VALUES(2, 23, 5, 22, 'main', NULL, 'run.closed', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482581, NULL, NULL, CAST('{"status":"completed","output":"Order B-2002 is delivered, so there is nothing to pay back. No claim is needed.","error":null,"steps":3,"usage":{"input_tokens":248,"output_tokens":58,"cached_tokens":0,"reasoning_tokens":0},"model_calls":6,"tool_calls":2}' AS BLOB), NULL);
PRAGMA application_id = 0x5241474A;
PRAGMA user_version = 1;
