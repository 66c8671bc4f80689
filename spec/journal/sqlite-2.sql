-- A store of tables version 2: `ticket-7` waits for two answers, `ticket-8` is done.
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
, lock INTEGER NOT NULL DEFAULT 0, last_place INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE chains(
  id INTEGER PRIMARY KEY,
  thread INTEGER NOT NULL REFERENCES threads(id),
  branch TEXT NOT NULL,
  namespace TEXT NOT NULL,
  head INTEGER,
  UNIQUE(thread, branch, namespace)
) STRICT;
CREATE TABLE contents(
  family INTEGER NOT NULL,
  digest BLOB NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY(family, digest)
) STRICT;
CREATE INDEX threads_family ON threads(family);
CREATE TABLE "records"(
  id INTEGER PRIMARY KEY,
  thread INTEGER,
  chain INTEGER NOT NULL REFERENCES chains(id),
  parent INTEGER,
  branch TEXT,
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
  content BLOB
) STRICT;
CREATE UNIQUE INDEX records_key ON records(thread, branch, key) WHERE key IS NOT NULL;
CREATE TABLE "messages"(
  id INTEGER PRIMARY KEY,
  thread INTEGER NOT NULL REFERENCES threads(id),
  name TEXT NOT NULL,
  body BLOB,
  content BLOB,
  UNIQUE(thread, name)
) STRICT;
CREATE TABLE removed(epoch INTEGER NOT NULL, lock INTEGER NOT NULL) STRICT;

INSERT INTO threads VALUES(1, 'ticket-7', 1, 1, '{"process":13744,"since_ms":1795852482493}', 20, 1795852482499, 1795852482520, 0, 8);
INSERT INTO threads VALUES(2, 'ticket-8', 2, 1, '{"process":13749,"since_ms":1795852482564}', 23, 1795852482565, 1795852482581, 0, 9);
INSERT INTO chains VALUES(1, 1, 'main', '', 20);
INSERT INTO chains VALUES(2, 1, 'main', 'triage:1.0', 4);
INSERT INTO chains VALUES(3, 1, 'main', 'refunds:2.0', 16);
INSERT INTO chains VALUES(4, 1, 'main', 'carrier:2.1', 19);
INSERT INTO chains VALUES(5, 2, 'main', '', 23);
INSERT INTO chains VALUES(6, 2, 'main', 'triage:1.0', 4);
INSERT INTO chains VALUES(7, 2, 'main', 'refunds:2.0', 15);
INSERT INTO chains VALUES(8, 2, 'main', 'carrier:2.1', 17);
INSERT INTO chains VALUES(9, 2, 'main', 'reply:3.0', 21);
INSERT INTO contents VALUES(1, X'75C0C502A36A7E09E2E50ADFC1AA45461943AA457C5C2E6A49D639CAB6559872', CAST('{"blueprint":{"channels":[{"name":"messages","reducer":"messages"},{"name":"topic","reducer":"overwrite"}],"name":"support","nodes":[{"kind":{"agent":{"model":"default","output":"topic","prompt":"Triage. Answer with one word: refund or other.","tools":[]}},"name":"triage","way":{"routes":[{"label":"refund","targets":["refunds","carrier"]},{"label":"other","targets":["reply"]}]}},{"kind":{"agent":{"model":"default","prompt":"Refund clerk. Look the order up; refund it in full if it is paid.","tools":["lookup_order","refund"]}},"name":"refunds","way":{"next":["reply"]}},{"kind":{"agent":{"model":"default","prompt":"Carrier clerk. Look the order up; open a claim if it was shipped.","tools":["lookup_order","open_claim"]}},"name":"carrier","way":{"next":["reply"]}},{"kind":{"agent":{"model":"default","prompt":"Reply. One short answer to the customer.","tools":[]}},"name":"reply","way":{"next":["END"]}}],"recursion_limit":20,"start":["triage"],"version":1},"tools":[{"description":"Find an order by its number.","effect":"repeatable","input_schema":{"additionalProperties":false,"properties":{"order":{"pattern":"^[A-Z]-[0-9]{4}$","type":"string"}},"required":["order"],"type":"object"},"max_output_bytes":65536,"name":"lookup_order","timeout":{"nanos":0,"secs":30}},{"approval":"ask","description":"Open a claim with the carrier.","effect":"once","input_schema":{"additionalProperties":false,"properties":{"order":{"type":"string"}},"required":["order"],"type":"object"},"max_output_bytes":65536,"name":"open_claim","timeout":{"nanos":0,"secs":30}},{"approval":"ask","description":"Pay the full price of a paid order back.","effect":"once","input_schema":{"additionalProperties":false,"properties":{"amount_cents":{"minimum":1,"type":"integer"},"order":{"type":"string"}},"required":["order","amount_cents"],"type":"object"},"max_output_bytes":16384,"name":"refund","timeout":{"nanos":0,"secs":5}}],"version":1}' AS BLOB));
INSERT INTO contents VALUES(2, X'75C0C502A36A7E09E2E50ADFC1AA45461943AA457C5C2E6A49D639CAB6559872', CAST('{"blueprint":{"channels":[{"name":"messages","reducer":"messages"},{"name":"topic","reducer":"overwrite"}],"name":"support","nodes":[{"kind":{"agent":{"model":"default","output":"topic","prompt":"Triage. Answer with one word: refund or other.","tools":[]}},"name":"triage","way":{"routes":[{"label":"refund","targets":["refunds","carrier"]},{"label":"other","targets":["reply"]}]}},{"kind":{"agent":{"model":"default","prompt":"Refund clerk. Look the order up; refund it in full if it is paid.","tools":["lookup_order","refund"]}},"name":"refunds","way":{"next":["reply"]}},{"kind":{"agent":{"model":"default","prompt":"Carrier clerk. Look the order up; open a claim if it was shipped.","tools":["lookup_order","open_claim"]}},"name":"carrier","way":{"next":["reply"]}},{"kind":{"agent":{"model":"default","prompt":"Reply. One short answer to the customer.","tools":[]}},"name":"reply","way":{"next":["END"]}}],"recursion_limit":20,"start":["triage"],"version":1},"tools":[{"description":"Find an order by its number.","effect":"repeatable","input_schema":{"additionalProperties":false,"properties":{"order":{"pattern":"^[A-Z]-[0-9]{4}$","type":"string"}},"required":["order"],"type":"object"},"max_output_bytes":65536,"name":"lookup_order","timeout":{"nanos":0,"secs":30}},{"approval":"ask","description":"Open a claim with the carrier.","effect":"once","input_schema":{"additionalProperties":false,"properties":{"order":{"type":"string"}},"required":["order"],"type":"object"},"max_output_bytes":65536,"name":"open_claim","timeout":{"nanos":0,"secs":30}},{"approval":"ask","description":"Pay the full price of a paid order back.","effect":"once","input_schema":{"additionalProperties":false,"properties":{"amount_cents":{"minimum":1,"type":"integer"},"order":{"type":"string"}},"required":["order","amount_cents"],"type":"object"},"max_output_bytes":16384,"name":"refund","timeout":{"nanos":0,"secs":5}}],"version":1}' AS BLOB));
INSERT INTO records VALUES(4294967297, NULL, 1, NULL, NULL, NULL, 'run.opened', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482502, NULL, NULL, CAST('{"target":{"plan":"@DESK@/support.rag","config":"@DESK@/rustagents.toml"},"definition":"75c0c502a36a7e09e2e50adfc1aa45461943aa457c5c2e6a49d639cab6559872","limits":{"steps":50,"model_calls":100,"tool_calls":200,"driven":{"secs":600,"nanos":0}},"input":"m-1"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967298, NULL, 1, 1, NULL, NULL, 'graph.checkpoint', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482502, NULL, NULL, CAST('{"checkpoint":1,"step":0,"source":"input","deltas":[["messages",{"messages":["m-1"]}]],"done":[],"next":[{"task":"triage:1.0","node":"triage"}]}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967299, 1, 2, NULL, 'main', 'model/triage:1.0/1', 'effect.result', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482506, 'repeatable', X'F8E766B819BD0178863265D4A8213F57429FFEC3C7626B555071BFE715C9E453', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"f8e766b819bd0178863265d4a8213f57429ffec3c7626b555071bfe715c9e453","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":17,"output_tokens":2,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-2"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967300, NULL, 2, NULL, NULL, NULL, 'agent.transition', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482506, NULL, NULL, CAST('{"to":"completed","turn":1,"message":"m-2","label":"refund"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967301, NULL, 1, 2, NULL, NULL, 'graph.checkpoint', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482507, NULL, NULL, CAST('{"checkpoint":2,"step":1,"source":"step","deltas":[["topic",{"set":"refund"}]],"done":["triage:1.0"],"next":[{"task":"refunds:2.0","node":"refunds"},{"task":"carrier:2.1","node":"carrier"}]}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967302, 1, 3, NULL, 'main', 'model/refunds:2.0/1', 'effect.result', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482509, 'repeatable', X'745568C5D1EFD1D0C65BF99456ABDC1BFB682D39109FD5FAEF3BC650741B7792', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"745568c5d1efd1d0c65bf99456abdc1bfb682d39109fd5faef3bc650741b7792","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":22,"output_tokens":8,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-3"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967303, NULL, 3, NULL, NULL, NULL, 'agent.transition', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482509, NULL, NULL, CAST('{"to":"acting","turn":1,"message":"m-3"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967304, 1, 4, NULL, 'main', 'model/carrier:2.1/1', 'effect.result', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482509, 'repeatable', X'938A6922E5D0800852EC76F94F65AA7327877426BB9E2BE417C4CE5D51FE5EAD', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"938a6922e5d0800852ec76f94f65aa7327877426bb9e2be417c4ce5d51fe5ead","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":22,"output_tokens":8,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-4"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967305, NULL, 4, NULL, NULL, NULL, 'agent.transition', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482509, NULL, NULL, CAST('{"to":"acting","turn":1,"message":"m-4"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967306, 1, 3, NULL, 'main', 'call/c-1/result', 'effect.result', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482515, 'repeatable', X'6E8E0587875A1E75B2A78B4E7AEB349C8C5B83323FD595EC2FD681CA50624DAB', CAST('{"call":"c-1","tool":"lookup_order","end":"done","message":"m-5"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967307, NULL, 3, 7, NULL, NULL, 'agent.transition', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482515, NULL, NULL, CAST('{"to":"observing","turn":1,"results":["m-5"]}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967308, 1, 4, NULL, 'main', 'call/c-2/result', 'effect.result', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482516, 'repeatable', X'6E8E0587875A1E75B2A78B4E7AEB349C8C5B83323FD595EC2FD681CA50624DAB', CAST('{"call":"c-2","tool":"lookup_order","end":"done","message":"m-6"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967309, NULL, 4, 9, NULL, NULL, 'agent.transition', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482516, NULL, NULL, CAST('{"to":"observing","turn":1,"results":["m-6"]}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967310, 1, 3, NULL, 'main', 'model/refunds:2.0/2', 'effect.result', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482518, 'repeatable', X'2D23B931A7A958A387099A89CB9D433F2BF58B740A70B5D2DC065EECF510A92B', CAST('{"turn":2,"tries":1,"model":"scripted:script.toml","request":"2d23b931a7a958a387099a89cb9d433f2bf58b740a70b5d2dc065eecf510a92b","edit":{"keep":1,"insert":["m-3","m-5"]},"usage":{"input_tokens":48,"output_tokens":12,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-7"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967311, 1, 3, NULL, 'main', 'ask/c-3', 'ask.raised', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482518, 'once', X'39BB57D6C5FBD77490B4A1AB928C767AED92E77AA2CBD30B9F7E2251D17A615C', CAST('{"id":"c-3","node":"refunds","prompt":"Refund 12900 cents for A-1042","kind":"approval","call":"c-3","tool":"refund","effect":"once","arguments":{"amount_cents":12900,"order":"A-1042"},"hash":"39bb57d6c5fbd77490b4a1ab928c767aed92e77aa2cbd30b9f7e2251d17a615c"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967312, NULL, 3, 11, NULL, NULL, 'agent.transition', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482518, NULL, NULL, CAST('{"to":"acting","turn":2,"message":"m-7"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967313, 1, 4, NULL, 'main', 'model/carrier:2.1/2', 'effect.result', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482519, 'repeatable', X'0EEC4615D647D01B4DF13FEC1BD792D5979489F995040B61F121C33B586FB20E', CAST('{"turn":2,"tries":1,"model":"scripted:script.toml","request":"0eec4615d647d01b4df13fec1bd792d5979489f995040b61f121c33b586fb20e","edit":{"keep":1,"insert":["m-4","m-6"]},"usage":{"input_tokens":48,"output_tokens":7,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-8"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967314, 1, 4, NULL, 'main', 'ask/c-4', 'ask.raised', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482519, 'once', X'6E8E0587875A1E75B2A78B4E7AEB349C8C5B83323FD595EC2FD681CA50624DAB', CAST('{"id":"c-4","node":"carrier","prompt":"open_claim {\"order\":\"A-1042\"}","kind":"approval","call":"c-4","tool":"open_claim","effect":"once","arguments":{"order":"A-1042"},"hash":"6e8e0587875a1e75b2a78b4e7aeb349c8c5b83323fd595ec2fd681ca50624dab"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967315, NULL, 4, 13, NULL, NULL, 'agent.transition', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482519, NULL, NULL, CAST('{"to":"acting","turn":2,"message":"m-8"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967316, NULL, 1, 5, NULL, NULL, 'run.suspended', 1, '01a22126-37c6-776d-a3cd-3ea2cfd4c226', 1, 1, 1795852482520, NULL, NULL, CAST('{"asks":["c-3","c-4"]}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934593, NULL, 5, NULL, NULL, NULL, 'run.opened', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482568, NULL, NULL, CAST('{"target":{"plan":"@DESK@/support.rag","config":"@DESK@/rustagents.toml"},"definition":"75c0c502a36a7e09e2e50adfc1aa45461943aa457c5c2e6a49d639cab6559872","limits":{"steps":50,"model_calls":100,"tool_calls":200,"driven":{"secs":600,"nanos":0}},"input":"m-1"}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934594, NULL, 5, 1, NULL, NULL, 'graph.checkpoint', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482568, NULL, NULL, CAST('{"checkpoint":1,"step":0,"source":"input","deltas":[["messages",{"messages":["m-1"]}]],"done":[],"next":[{"task":"triage:1.0","node":"triage"}]}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934595, 2, 6, NULL, 'main', 'model/triage:1.0/1', 'effect.result', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482570, 'repeatable', X'425D925D435E243FC5924B87C17757DCCF0F9EBBBB0B20A584E8CDF6103E3FE2', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"425d925d435e243fc5924b87c17757dccf0f9ebbbb0b20a584e8cdf6103e3fe2","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":17,"output_tokens":2,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-2"}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934596, NULL, 6, NULL, NULL, NULL, 'agent.transition', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482570, NULL, NULL, CAST('{"to":"completed","turn":1,"message":"m-2","label":"refund"}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934597, NULL, 5, 2, NULL, NULL, 'graph.checkpoint', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482571, NULL, NULL, CAST('{"checkpoint":2,"step":1,"source":"step","deltas":[["topic",{"set":"refund"}]],"done":["triage:1.0"],"next":[{"task":"refunds:2.0","node":"refunds"},{"task":"carrier:2.1","node":"carrier"}]}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934598, 2, 7, NULL, 'main', 'model/refunds:2.0/1', 'effect.result', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482573, 'repeatable', X'790A22132B7A2FEB8023451C6034204BBCC033FC48FAF9B2CB1CDA4BCCA68293', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"790a22132b7a2feb8023451c6034204bbcc033fc48faf9b2cb1cda4bcca68293","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":22,"output_tokens":8,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-3"}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934599, NULL, 7, NULL, NULL, NULL, 'agent.transition', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482573, NULL, NULL, CAST('{"to":"acting","turn":1,"message":"m-3"}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934600, 2, 8, NULL, 'main', 'model/carrier:2.1/1', 'effect.result', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482573, 'repeatable', X'86C96C89FDE78FF75D15D4D75EFD89B91DA5D7035FE9B04E7B440215ECB670ED', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"86c96c89fde78ff75d15d4d75efd89b91da5d7035fe9b04e7b440215ecb670ed","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":22,"output_tokens":8,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-4"}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934601, NULL, 8, NULL, NULL, NULL, 'agent.transition', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482573, NULL, NULL, CAST('{"to":"acting","turn":1,"message":"m-4"}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934602, 2, 7, NULL, 'main', 'call/c-1/result', 'effect.result', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482575, 'repeatable', X'81CBE4ED90E86ADBC7A59B57A362F1ECAC7066661F60EA49087426571604F6E8', CAST('{"call":"c-1","tool":"lookup_order","end":"done","message":"m-5"}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934603, NULL, 7, 7, NULL, NULL, 'agent.transition', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482575, NULL, NULL, CAST('{"to":"observing","turn":1,"results":["m-5"]}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934604, 2, 8, NULL, 'main', 'call/c-2/result', 'effect.result', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482575, 'repeatable', X'81CBE4ED90E86ADBC7A59B57A362F1ECAC7066661F60EA49087426571604F6E8', CAST('{"call":"c-2","tool":"lookup_order","end":"done","message":"m-6"}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934605, NULL, 8, 9, NULL, NULL, 'agent.transition', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482575, NULL, NULL, CAST('{"to":"observing","turn":1,"results":["m-6"]}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934606, 2, 7, NULL, 'main', 'model/refunds:2.0/2', 'effect.result', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482576, 'repeatable', X'1B106FE502705567BB657F7F33E7375F30A24C223795B058D9E78180716C689F', CAST('{"turn":2,"tries":1,"model":"scripted:script.toml","request":"1b106fe502705567bb657f7f33e7375f30a24c223795b058d9e78180716c689f","edit":{"keep":1,"insert":["m-3","m-5"]},"usage":{"input_tokens":49,"output_tokens":15,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-7"}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934607, NULL, 7, 11, NULL, NULL, 'agent.transition', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482576, NULL, NULL, CAST('{"to":"completed","turn":2,"message":"m-7"}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934608, 2, 8, NULL, 'main', 'model/carrier:2.1/2', 'effect.result', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482577, 'repeatable', X'B22C6C13E33E7D41A3E3022C36312254F036842E80A386441B27E7AA517BA408', CAST('{"turn":2,"tries":1,"model":"scripted:script.toml","request":"b22c6c13e33e7d41a3e3022c36312254f036842e80a386441b27e7aa517ba408","edit":{"keep":1,"insert":["m-4","m-6"]},"usage":{"input_tokens":49,"output_tokens":5,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-8"}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934609, NULL, 8, 13, NULL, NULL, 'agent.transition', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482577, NULL, NULL, CAST('{"to":"completed","turn":2,"message":"m-8"}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934610, 2, 5, NULL, 'main', 'write/refunds:2.0', 'graph.write', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482577, NULL, NULL, CAST('{"deltas":[["messages",{"messages":["m-3","m-5","m-7"]}]]}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934611, NULL, 5, 5, NULL, NULL, 'graph.checkpoint', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482579, NULL, NULL, CAST('{"checkpoint":3,"step":2,"source":"step","deltas":[["messages",{"messages":["m-3","m-5","m-7"]}],["messages",{"messages":["m-4","m-6","m-8"]}]],"done":["refunds:2.0","carrier:2.1"],"next":[{"task":"reply:3.0","node":"reply"}]}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934612, 2, 9, NULL, 'main', 'model/reply:3.0/1', 'effect.result', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482580, 'repeatable', X'8CF5FF5343D77001F396093304FD1BB2A5D1E0FB8D6406CEA144432864B88F96', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"8cf5ff5343d77001f396093304fd1bb2a5d1e0fb8d6406cea144432864b88f96","edit":{"keep":0,"insert":["m-1","m-3","m-5","m-7","m-4","m-6","m-8"]},"usage":{"input_tokens":89,"output_tokens":20,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-9"}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934613, NULL, 9, NULL, NULL, NULL, 'agent.transition', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482580, NULL, NULL, CAST('{"to":"completed","turn":1,"message":"m-9"}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934614, NULL, 5, 19, NULL, NULL, 'graph.checkpoint', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482581, NULL, NULL, CAST('{"checkpoint":4,"step":3,"source":"step","deltas":[["messages",{"messages":["m-9"]}]],"done":["reply:3.0"],"next":[]}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934615, NULL, 5, 22, NULL, NULL, 'run.closed', 1, '01a22126-3807-7300-95e0-e55f8aeb20ad', 1, 1, 1795852482581, NULL, NULL, CAST('{"status":"completed","output":"Order B-2002 is delivered, so there is nothing to pay back. No claim is needed.","error":null,"steps":3,"usage":{"input_tokens":248,"output_tokens":58,"cached_tokens":0,"reasoning_tokens":0},"model_calls":6,"tool_calls":2}' AS BLOB), NULL);
INSERT INTO messages VALUES(4294967297, 1, 'm-1', CAST('{"id":"m-1","role":"user","content":[{"type":"text","text":"Please refund A-1042"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(4294967298, 1, 'm-2', CAST('{"id":"m-2","role":"assistant","content":[{"type":"text","text":"refund"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(4294967299, 1, 'm-3', CAST('{"id":"m-3","role":"assistant","content":[],"calls":[{"id":"c-1","name":"lookup_order","arguments":"{\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(4294967300, 1, 'm-4', CAST('{"id":"m-4","role":"assistant","content":[],"calls":[{"id":"c-2","name":"lookup_order","arguments":"{\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(4294967301, 1, 'm-5', CAST('{"id":"m-5","role":"tool","call":"c-1","tool":"lookup_order","status":"ok","content":[{"type":"text","text":"{\"rows\":[{\"claim\":null,\"id\":\"A-1042\",\"paid_cents\":12900,\"status\":\"paid\"}]}"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(4294967302, 1, 'm-6', CAST('{"id":"m-6","role":"tool","call":"c-2","tool":"lookup_order","status":"ok","content":[{"type":"text","text":"{\"rows\":[{\"claim\":null,\"id\":\"A-1042\",\"paid_cents\":12900,\"status\":\"paid\"}]}"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(4294967303, 1, 'm-7', CAST('{"id":"m-7","role":"assistant","content":[],"calls":[{"id":"c-3","name":"refund","arguments":"{\"amount_cents\":12900,\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(4294967304, 1, 'm-8', CAST('{"id":"m-8","role":"assistant","content":[],"calls":[{"id":"c-4","name":"open_claim","arguments":"{\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(8589934593, 2, 'm-1', CAST('{"id":"m-1","role":"user","content":[{"type":"text","text":"Please refund B-2002"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(8589934594, 2, 'm-2', CAST('{"id":"m-2","role":"assistant","content":[{"type":"text","text":"refund"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(8589934595, 2, 'm-3', CAST('{"id":"m-3","role":"assistant","content":[],"calls":[{"id":"c-1","name":"lookup_order","arguments":"{\"order\":\"B-2002\"}","wire_id":"call_1"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(8589934596, 2, 'm-4', CAST('{"id":"m-4","role":"assistant","content":[],"calls":[{"id":"c-2","name":"lookup_order","arguments":"{\"order\":\"B-2002\"}","wire_id":"call_1"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(8589934597, 2, 'm-5', CAST('{"id":"m-5","role":"tool","call":"c-1","tool":"lookup_order","status":"ok","content":[{"type":"text","text":"{\"rows\":[{\"claim\":null,\"id\":\"B-2002\",\"paid_cents\":2900,\"status\":\"delivered\"}]}"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(8589934598, 2, 'm-6', CAST('{"id":"m-6","role":"tool","call":"c-2","tool":"lookup_order","status":"ok","content":[{"type":"text","text":"{\"rows\":[{\"claim\":null,\"id\":\"B-2002\",\"paid_cents\":2900,\"status\":\"delivered\"}]}"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(8589934599, 2, 'm-7', CAST('{"id":"m-7","role":"assistant","content":[{"type":"text","text":"Order B-2002 is delivered, so there is nothing to pay back."}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(8589934600, 2, 'm-8', CAST('{"id":"m-8","role":"assistant","content":[{"type":"text","text":"No claim is needed."}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(8589934601, 2, 'm-9', CAST('{"id":"m-9","role":"assistant","content":[{"type":"text","text":"Order B-2002 is delivered, so there is nothing to pay back. No claim is needed."}]}' AS BLOB), NULL);
INSERT INTO removed VALUES(0, 0);
PRAGMA application_id = 0x5241474A;
PRAGMA user_version = 2;
