-- A store of tables version 3: `ticket-7` waits for two answers, `ticket-8` is done.
-- @DESK@ stands for the folder of the plan.

CREATE TABLE threads(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  family INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  lock INTEGER NOT NULL,
  owner TEXT NOT NULL,
  last_seq INTEGER NOT NULL,
  last_place INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX threads_family ON threads(family);
CREATE TABLE chains(
  id INTEGER PRIMARY KEY,
  thread INTEGER NOT NULL REFERENCES threads(id),
  branch TEXT NOT NULL,
  namespace TEXT NOT NULL,
  head INTEGER,
  UNIQUE(thread, branch, namespace)
) STRICT;
CREATE TABLE records(
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
CREATE TABLE messages(
  id INTEGER PRIMARY KEY,
  thread INTEGER NOT NULL REFERENCES threads(id),
  name TEXT NOT NULL,
  body BLOB,
  content BLOB,
  UNIQUE(thread, name)
) STRICT;
CREATE TABLE contents(
  family INTEGER NOT NULL,
  digest BLOB NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY(family, digest)
) STRICT;
CREATE TABLE removed(epoch INTEGER NOT NULL, lock INTEGER NOT NULL) STRICT;

INSERT INTO threads VALUES(1, 'ticket-7', 1, 1, 0, '{"process":17349,"since_ms":1795903031772}', 0, 0, 1795903031790, 1795903031790);
INSERT INTO threads VALUES(2, 'ticket-8', 2, 1, 0, '{"process":17354,"since_ms":1795903031816}', 0, 0, 1795903031822, 1795903031822);
INSERT INTO chains VALUES(1, 1, 'main', '', NULL);
INSERT INTO chains VALUES(2, 1, 'main', 'triage:1.0', NULL);
INSERT INTO chains VALUES(3, 1, 'main', 'refunds:2.0', NULL);
INSERT INTO chains VALUES(4, 1, 'main', 'carrier:2.1', NULL);
INSERT INTO chains VALUES(5, 2, 'main', '', NULL);
INSERT INTO chains VALUES(6, 2, 'main', 'triage:1.0', NULL);
INSERT INTO chains VALUES(7, 2, 'main', 'reply:2.0', NULL);
INSERT INTO records VALUES(4294967297, NULL, 1, NULL, NULL, NULL, 'run.opened', 1, '01a22429-89f2-771f-96f0-7f51b6b6fc59', 1, 1, 1795903031788, NULL, NULL, CAST('{"target":{"plan":"@DESK@/support.rag","config":"@DESK@/rustagents.toml"},"definition":"75c0c502a36a7e09e2e50adfc1aa45461943aa457c5c2e6a49d639cab6559872","limits":{"steps":50,"model_calls":100,"tool_calls":200,"driven":{"secs":600,"nanos":0}},"input":"m-1"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967298, NULL, 1, 1, NULL, NULL, 'graph.checkpoint', 1, '01a22429-89f2-771f-96f0-7f51b6b6fc59', 1, 1, 1795903031788, NULL, NULL, CAST('{"checkpoint":1,"step":0,"source":"input","deltas":[["messages",{"messages":["m-1"]}]],"done":[],"next":[{"task":"triage:1.0","node":"triage"}]}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967299, 1, 2, NULL, 'main', 'model/triage:1.0/1', 'effect.result', 1, '01a22429-89f2-771f-96f0-7f51b6b6fc59', 1, 1, 1795903031792, 'repeatable', x'7e39a911586a7eba1e3b0f8c52c90d6f01acbac0b5446e5a5862935090490153', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"7e39a911586a7eba1e3b0f8c52c90d6f01acbac0b5446e5a5862935090490153","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":23,"output_tokens":2,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-2"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967300, NULL, 2, NULL, NULL, NULL, 'agent.transition', 1, '01a22429-89f2-771f-96f0-7f51b6b6fc59', 1, 1, 1795903031792, NULL, NULL, CAST('{"to":"completed","turn":1,"message":"m-2","label":"refund"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967301, NULL, 1, 2, NULL, NULL, 'graph.checkpoint', 1, '01a22429-89f2-771f-96f0-7f51b6b6fc59', 1, 1, 1795903031792, NULL, NULL, CAST('{"checkpoint":2,"step":1,"source":"step","deltas":[["topic",{"set":"refund"}]],"done":["triage:1.0"],"next":[{"task":"refunds:2.0","node":"refunds"},{"task":"carrier:2.1","node":"carrier"}]}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967302, 1, 3, NULL, 'main', 'model/refunds:2.0/1', 'effect.result', 1, '01a22429-89f2-771f-96f0-7f51b6b6fc59', 1, 1, 1795903031796, 'repeatable', x'0ae5ff1046b06105cc9d3b7cee17bc5118d9aa150be1894b38c72de8f80bb661', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"0ae5ff1046b06105cc9d3b7cee17bc5118d9aa150be1894b38c72de8f80bb661","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":28,"output_tokens":8,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-3"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967303, NULL, 3, NULL, NULL, NULL, 'agent.transition', 1, '01a22429-89f2-771f-96f0-7f51b6b6fc59', 1, 1, 1795903031796, NULL, NULL, CAST('{"to":"acting","turn":1,"message":"m-3"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967304, 1, 4, NULL, 'main', 'model/carrier:2.1/1', 'effect.result', 1, '01a22429-89f2-771f-96f0-7f51b6b6fc59', 1, 1, 1795903031796, 'repeatable', x'c3b019a15563f6c4ac869866f77926247b00ccb45986ccd05dcb7f297152f23a', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"c3b019a15563f6c4ac869866f77926247b00ccb45986ccd05dcb7f297152f23a","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":28,"output_tokens":8,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-4"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967305, NULL, 4, NULL, NULL, NULL, 'agent.transition', 1, '01a22429-89f2-771f-96f0-7f51b6b6fc59', 1, 1, 1795903031796, NULL, NULL, CAST('{"to":"acting","turn":1,"message":"m-4"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967306, 1, 3, NULL, 'main', 'call/c-1/result', 'effect.result', 1, '01a22429-89f2-771f-96f0-7f51b6b6fc59', 1, 1, 1795903031800, 'repeatable', x'6e8e0587875a1e75b2a78b4e7aeb349c8c5b83323fd595ec2fd681ca50624dab', CAST('{"call":"c-1","tool":"lookup_order","end":"done","message":"m-5"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967307, NULL, 3, 7, NULL, NULL, 'agent.transition', 1, '01a22429-89f2-771f-96f0-7f51b6b6fc59', 1, 1, 1795903031800, NULL, NULL, CAST('{"to":"observing","turn":1,"results":["m-5"]}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967308, 1, 3, NULL, 'main', 'model/refunds:2.0/2', 'effect.result', 1, '01a22429-89f2-771f-96f0-7f51b6b6fc59', 1, 1, 1795903031800, 'repeatable', x'c56d2d3cf493d511240c3d777ed92d2a5e0ca65cf614c417c1b898812ec98f6d', CAST('{"turn":2,"tries":1,"model":"scripted:script.toml","request":"c56d2d3cf493d511240c3d777ed92d2a5e0ca65cf614c417c1b898812ec98f6d","edit":{"keep":1,"insert":["m-3","m-5"]},"usage":{"input_tokens":54,"output_tokens":12,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-6"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967309, 1, 3, NULL, 'main', 'ask/c-3', 'ask.raised', 2, '01a22429-89f2-771f-96f0-7f51b6b6fc59', 1, 1, 1795903031800, 'once', x'39bb57d6c5fbd77490b4a1ab928c767aed92e77aa2cbd30b9f7e2251d17a615c', CAST('{"id":"c-3","node":"refunds","prompt":"Refund 12900 cents for A-1042","kind":"approval","call":"c-3","tool":"refund","effect":"once","arguments":{"amount_cents":12900,"order":"A-1042"},"hash":"39bb57d6c5fbd77490b4a1ab928c767aed92e77aa2cbd30b9f7e2251d17a615c"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967310, NULL, 3, 11, NULL, NULL, 'agent.transition', 1, '01a22429-89f2-771f-96f0-7f51b6b6fc59', 1, 1, 1795903031800, NULL, NULL, CAST('{"to":"acting","turn":2,"message":"m-6"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967311, 1, 4, NULL, 'main', 'call/c-2/result', 'effect.result', 1, '01a22429-89f2-771f-96f0-7f51b6b6fc59', 1, 1, 1795903031804, 'repeatable', x'6e8e0587875a1e75b2a78b4e7aeb349c8c5b83323fd595ec2fd681ca50624dab', CAST('{"call":"c-2","tool":"lookup_order","end":"done","message":"m-7"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967312, NULL, 4, 9, NULL, NULL, 'agent.transition', 1, '01a22429-89f2-771f-96f0-7f51b6b6fc59', 1, 1, 1795903031804, NULL, NULL, CAST('{"to":"observing","turn":1,"results":["m-7"]}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967313, 1, 4, NULL, 'main', 'model/carrier:2.1/2', 'effect.result', 1, '01a22429-89f2-771f-96f0-7f51b6b6fc59', 1, 1, 1795903031804, 'repeatable', x'c84541a1da50770ea0d2643294c376961707f8c5ca041c8c39e41217e5f7390a', CAST('{"turn":2,"tries":1,"model":"scripted:script.toml","request":"c84541a1da50770ea0d2643294c376961707f8c5ca041c8c39e41217e5f7390a","edit":{"keep":1,"insert":["m-4","m-7"]},"usage":{"input_tokens":54,"output_tokens":7,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-8"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967314, 1, 4, NULL, 'main', 'ask/c-4', 'ask.raised', 2, '01a22429-89f2-771f-96f0-7f51b6b6fc59', 1, 1, 1795903031804, 'once', x'6e8e0587875a1e75b2a78b4e7aeb349c8c5b83323fd595ec2fd681ca50624dab', CAST('{"id":"c-4","node":"carrier","prompt":"open_claim {\"order\":\"A-1042\"}","kind":"approval","call":"c-4","tool":"open_claim","effect":"once","arguments":{"order":"A-1042"},"hash":"6e8e0587875a1e75b2a78b4e7aeb349c8c5b83323fd595ec2fd681ca50624dab"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967315, NULL, 4, 16, NULL, NULL, 'agent.transition', 1, '01a22429-89f2-771f-96f0-7f51b6b6fc59', 1, 1, 1795903031804, NULL, NULL, CAST('{"to":"acting","turn":2,"message":"m-8"}' AS BLOB), NULL);
INSERT INTO records VALUES(4294967316, NULL, 1, 5, NULL, NULL, 'run.suspended', 1, '01a22429-89f2-771f-96f0-7f51b6b6fc59', 1, 1, 1795903031804, NULL, NULL, CAST('{"asks":["c-3","c-4"]}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934593, NULL, 5, NULL, NULL, NULL, 'run.opened', 1, '01a22429-8a12-712d-8362-dd71bc8bfb45', 1, 1, 1795903031820, NULL, NULL, CAST('{"target":{"plan":"@DESK@/support.rag","config":"@DESK@/rustagents.toml"},"definition":"75c0c502a36a7e09e2e50adfc1aa45461943aa457c5c2e6a49d639cab6559872","limits":{"steps":50,"model_calls":100,"tool_calls":200,"driven":{"secs":600,"nanos":0}},"input":"m-1"}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934594, NULL, 5, 1, NULL, NULL, 'graph.checkpoint', 1, '01a22429-8a12-712d-8362-dd71bc8bfb45', 1, 1, 1795903031820, NULL, NULL, CAST('{"checkpoint":1,"step":0,"source":"input","deltas":[["messages",{"messages":["m-1"]}]],"done":[],"next":[{"task":"triage:1.0","node":"triage"}]}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934595, 2, 6, NULL, 'main', 'model/triage:1.0/1', 'effect.result', 1, '01a22429-8a12-712d-8362-dd71bc8bfb45', 1, 1, 1795903031820, 'repeatable', x'46404e612b2202136f693119d314f51be23fb5343743c3174d6dc6dd7f788df6', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"46404e612b2202136f693119d314f51be23fb5343743c3174d6dc6dd7f788df6","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":13,"output_tokens":2,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-2"}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934596, NULL, 6, NULL, NULL, NULL, 'agent.transition', 1, '01a22429-8a12-712d-8362-dd71bc8bfb45', 1, 1, 1795903031820, NULL, NULL, CAST('{"to":"completed","turn":1,"message":"m-2","label":"other"}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934597, NULL, 5, 2, NULL, NULL, 'graph.checkpoint', 1, '01a22429-8a12-712d-8362-dd71bc8bfb45', 1, 1, 1795903031824, NULL, NULL, CAST('{"checkpoint":2,"step":1,"source":"step","deltas":[["topic",{"set":"other"}]],"done":["triage:1.0"],"next":[{"task":"reply:2.0","node":"reply"}]}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934598, 2, 7, NULL, 'main', 'model/reply:2.0/1', 'effect.result', 1, '01a22429-8a12-712d-8362-dd71bc8bfb45', 1, 1, 1795903031824, 'repeatable', x'8297626bdf0b38a075d9cd7698d72e7ffdaaaa36c7caf50529aa325c4400dfb6', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"8297626bdf0b38a075d9cd7698d72e7ffdaaaa36c7caf50529aa325c4400dfb6","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":12,"output_tokens":8,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-3"}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934599, NULL, 7, NULL, NULL, NULL, 'agent.transition', 1, '01a22429-8a12-712d-8362-dd71bc8bfb45', 1, 1, 1795903031824, NULL, NULL, CAST('{"to":"completed","turn":1,"message":"m-3"}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934600, NULL, 5, 5, NULL, NULL, 'graph.checkpoint', 1, '01a22429-8a12-712d-8362-dd71bc8bfb45', 1, 1, 1795903031824, NULL, NULL, CAST('{"checkpoint":3,"step":2,"source":"step","deltas":[["messages",{"messages":["m-3"]}]],"done":["reply:2.0"],"next":[]}' AS BLOB), NULL);
INSERT INTO records VALUES(8589934601, NULL, 5, 8, NULL, NULL, 'run.closed', 1, '01a22429-8a12-712d-8362-dd71bc8bfb45', 1, 1, 1795903031824, NULL, NULL, CAST('{"status":"completed","output":"Thank you, we will look into it.","error":null,"steps":2,"usage":{"input_tokens":25,"output_tokens":10,"cached_tokens":0,"reasoning_tokens":0},"model_calls":2,"tool_calls":0}' AS BLOB), NULL);
INSERT INTO messages VALUES(4294967297, 1, 'm-1', CAST('{"id":"m-1","role":"user","content":[{"type":"text","text":"Order A-1042 never arrived, please refund it"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(4294967298, 1, 'm-2', CAST('{"id":"m-2","role":"assistant","content":[{"type":"text","text":"refund"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(4294967299, 1, 'm-3', CAST('{"id":"m-3","role":"assistant","content":[],"calls":[{"id":"c-1","name":"lookup_order","arguments":"{\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(4294967300, 1, 'm-4', CAST('{"id":"m-4","role":"assistant","content":[],"calls":[{"id":"c-2","name":"lookup_order","arguments":"{\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(4294967301, 1, 'm-5', CAST('{"id":"m-5","role":"tool","call":"c-1","tool":"lookup_order","status":"ok","content":[{"type":"text","text":"{\"rows\":[{\"claim\":null,\"id\":\"A-1042\",\"paid_cents\":12900,\"status\":\"paid\"}]}"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(4294967302, 1, 'm-6', CAST('{"id":"m-6","role":"assistant","content":[],"calls":[{"id":"c-3","name":"refund","arguments":"{\"amount_cents\":12900,\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(4294967303, 1, 'm-7', CAST('{"id":"m-7","role":"tool","call":"c-2","tool":"lookup_order","status":"ok","content":[{"type":"text","text":"{\"rows\":[{\"claim\":null,\"id\":\"A-1042\",\"paid_cents\":12900,\"status\":\"paid\"}]}"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(4294967304, 1, 'm-8', CAST('{"id":"m-8","role":"assistant","content":[],"calls":[{"id":"c-4","name":"open_claim","arguments":"{\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(8589934593, 2, 'm-1', CAST('{"id":"m-1","role":"user","content":[{"type":"text","text":"hello"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(8589934594, 2, 'm-2', CAST('{"id":"m-2","role":"assistant","content":[{"type":"text","text":"other"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(8589934595, 2, 'm-3', CAST('{"id":"m-3","role":"assistant","content":[{"type":"text","text":"Thank you, we will look into it."}]}' AS BLOB), NULL);
INSERT INTO contents VALUES(1, x'75c0c502a36a7e09e2e50adfc1aa45461943aa457c5c2e6a49d639cab6559872', CAST('{"blueprint":{"channels":[{"name":"messages","reducer":"messages"},{"name":"topic","reducer":"overwrite"}],"name":"support","nodes":[{"kind":{"agent":{"model":"default","output":"topic","prompt":"Triage. Answer with one word: refund or other.","tools":[]}},"name":"triage","way":{"routes":[{"label":"refund","targets":["refunds","carrier"]},{"label":"other","targets":["reply"]}]}},{"kind":{"agent":{"model":"default","prompt":"Refund clerk. Look the order up; refund it in full if it is paid.","tools":["lookup_order","refund"]}},"name":"refunds","way":{"next":["reply"]}},{"kind":{"agent":{"model":"default","prompt":"Carrier clerk. Look the order up; open a claim if it was shipped.","tools":["lookup_order","open_claim"]}},"name":"carrier","way":{"next":["reply"]}},{"kind":{"agent":{"model":"default","prompt":"Reply. One short answer to the customer.","tools":[]}},"name":"reply","way":{"next":["END"]}}],"recursion_limit":20,"start":["triage"],"version":1},"tools":[{"description":"Find an order by its number.","effect":"repeatable","input_schema":{"additionalProperties":false,"properties":{"order":{"pattern":"^[A-Z]-[0-9]{4}$","type":"string"}},"required":["order"],"type":"object"},"max_output_bytes":65536,"name":"lookup_order","timeout":{"nanos":0,"secs":30}},{"approval":"ask","description":"Open a claim with the carrier.","effect":"once","input_schema":{"additionalProperties":false,"properties":{"order":{"type":"string"}},"required":["order"],"type":"object"},"max_output_bytes":65536,"name":"open_claim","timeout":{"nanos":0,"secs":30}},{"approval":"ask","description":"Pay the full price of a paid order back.","effect":"once","input_schema":{"additionalProperties":false,"properties":{"amount_cents":{"minimum":1,"type":"integer"},"order":{"type":"string"}},"required":["order","amount_cents"],"type":"object"},"max_output_bytes":16384,"name":"refund","timeout":{"nanos":0,"secs":5}}],"version":1}' AS BLOB));
INSERT INTO contents VALUES(2, x'75c0c502a36a7e09e2e50adfc1aa45461943aa457c5c2e6a49d639cab6559872', CAST('{"blueprint":{"channels":[{"name":"messages","reducer":"messages"},{"name":"topic","reducer":"overwrite"}],"name":"support","nodes":[{"kind":{"agent":{"model":"default","output":"topic","prompt":"Triage. Answer with one word: refund or other.","tools":[]}},"name":"triage","way":{"routes":[{"label":"refund","targets":["refunds","carrier"]},{"label":"other","targets":["reply"]}]}},{"kind":{"agent":{"model":"default","prompt":"Refund clerk. Look the order up; refund it in full if it is paid.","tools":["lookup_order","refund"]}},"name":"refunds","way":{"next":["reply"]}},{"kind":{"agent":{"model":"default","prompt":"Carrier clerk. Look the order up; open a claim if it was shipped.","tools":["lookup_order","open_claim"]}},"name":"carrier","way":{"next":["reply"]}},{"kind":{"agent":{"model":"default","prompt":"Reply. One short answer to the customer.","tools":[]}},"name":"reply","way":{"next":["END"]}}],"recursion_limit":20,"start":["triage"],"version":1},"tools":[{"description":"Find an order by its number.","effect":"repeatable","input_schema":{"additionalProperties":false,"properties":{"order":{"pattern":"^[A-Z]-[0-9]{4}$","type":"string"}},"required":["order"],"type":"object"},"max_output_bytes":65536,"name":"lookup_order","timeout":{"nanos":0,"secs":30}},{"approval":"ask","description":"Open a claim with the carrier.","effect":"once","input_schema":{"additionalProperties":false,"properties":{"order":{"type":"string"}},"required":["order"],"type":"object"},"max_output_bytes":65536,"name":"open_claim","timeout":{"nanos":0,"secs":30}},{"approval":"ask","description":"Pay the full price of a paid order back.","effect":"once","input_schema":{"additionalProperties":false,"properties":{"amount_cents":{"minimum":1,"type":"integer"},"order":{"type":"string"}},"required":["order","amount_cents"],"type":"object"},"max_output_bytes":16384,"name":"refund","timeout":{"nanos":0,"secs":5}}],"version":1}' AS BLOB));
INSERT INTO removed VALUES(0, 0);
PRAGMA application_id = 0x5241474A;
PRAGMA user_version = 3;
