-- A store of tables version 4: `ticket-7` waits for two answers, `ticket-8` is done; a
-- thread before them was deleted. @DESK@ stands for the folder of the plan.

CREATE TABLE threads(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  family INTEGER NOT NULL,          -- the threads that share contents
  epoch INTEGER NOT NULL,           -- how often it was claimed
  lock INTEGER NOT NULL,            -- which of its lock files counts
  owner TEXT NOT NULL,              -- the last owner, JSON
  last_seq INTEGER NOT NULL,        -- never given again, even where records go
  last_place INTEGER NOT NULL,      -- the same of its messages
  created_at INTEGER NOT NULL,      -- milliseconds since the Unix epoch
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX threads_family ON threads(family);
CREATE TABLE chains(
  id INTEGER PRIMARY KEY,
  thread INTEGER NOT NULL REFERENCES threads(id),
  branch TEXT NOT NULL,
  namespace TEXT NOT NULL,
  head INTEGER,                     -- seq of its last commit up to last_seq
  UNIQUE(thread, branch, namespace)
) STRICT;
CREATE TABLE record_spans(
  start INTEGER PRIMARY KEY,        -- thread << 32 | seq of the record with that id
  id INTEGER NOT NULL,
  last INTEGER
) STRICT;
CREATE TABLE message_spans(
  start INTEGER PRIMARY KEY,        -- thread << 32 | place of the message with that id
  id INTEGER NOT NULL,
  last INTEGER
) STRICT;
CREATE TABLE records(
  id INTEGER PRIMARY KEY,           -- in the order of writing
  thread INTEGER,                   -- facts only, for their index
  chain INTEGER NOT NULL REFERENCES chains(id),
  parent INTEGER,                   -- commits: seq of the commit that it extends
  branch TEXT,                      -- facts only, for their index
  key TEXT,                         -- facts: unique in the branch; commits: NULL
  kind TEXT NOT NULL,
  version INTEGER NOT NULL,
  run TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  at INTEGER NOT NULL,              -- milliseconds since the Unix epoch
  effect TEXT,                      -- repeatable, idempotent, once
  digest BLOB,                      -- of the effect's canonical input
  body BLOB,                        -- UTF-8 JSON, or NULL where content holds it
  content BLOB                      -- digest of the body in contents
) STRICT;
CREATE UNIQUE INDEX records_key ON records(thread, branch, key) WHERE key IS NOT NULL;
CREATE TABLE messages(
  id INTEGER PRIMARY KEY,           -- in the order of writing
  thread INTEGER NOT NULL REFERENCES threads(id),
  name TEXT NOT NULL,
  body BLOB,                        -- UTF-8 JSON, or NULL where content holds it
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

INSERT INTO threads VALUES(2, 'ticket-7', 2, 1, 0, '{"process":12609,"since_ms":1795914269312}', 0, 0, 1795914269318, 1795914269318);
INSERT INTO threads VALUES(3, 'ticket-8', 3, 1, 0, '{"process":12614,"since_ms":1795914269424}', 0, 0, 1795914269431, 1795914269431);
INSERT INTO chains VALUES(6, 2, 'main', '', NULL);
INSERT INTO chains VALUES(7, 2, 'main', 'triage:1.0', NULL);
INSERT INTO chains VALUES(8, 2, 'main', 'refunds:2.0', NULL);
INSERT INTO chains VALUES(9, 2, 'main', 'carrier:2.1', NULL);
INSERT INTO chains VALUES(10, 3, 'main', '', NULL);
INSERT INTO chains VALUES(11, 3, 'main', 'triage:1.0', NULL);
INSERT INTO chains VALUES(12, 3, 'main', 'refunds:2.0', NULL);
INSERT INTO chains VALUES(13, 3, 'main', 'carrier:2.1', NULL);
INSERT INTO chains VALUES(14, 3, 'main', 'reply:3.0', NULL);
INSERT INTO record_spans VALUES(8589934593, 24, 43);
INSERT INTO record_spans VALUES(12884901889, 44, NULL);
INSERT INTO message_spans VALUES(8589934593, 10, 17);
INSERT INTO message_spans VALUES(12884901889, 18, NULL);
INSERT INTO records VALUES(24, NULL, 6, NULL, NULL, NULL, 'run.opened', 1, '01a224d5-028a-74bc-92ac-50e5c86cab89', 1, 1, 1795914269316, NULL, NULL, CAST('{"target":{"plan":"@DESK@/support.rag","config":"@DESK@/rustagents.toml"},"definition":"75c0c502a36a7e09e2e50adfc1aa45461943aa457c5c2e6a49d639cab6559872","limits":{"steps":50,"model_calls":100,"tool_calls":200,"driven":{"secs":600,"nanos":0}},"input":"m-1"}' AS BLOB), NULL);
INSERT INTO records VALUES(25, NULL, 6, 1, NULL, NULL, 'graph.checkpoint', 1, '01a224d5-028a-74bc-92ac-50e5c86cab89', 1, 1, 1795914269316, NULL, NULL, CAST('{"checkpoint":1,"step":0,"source":"input","deltas":[["messages",{"messages":["m-1"]}]],"done":[],"next":[{"task":"triage:1.0","node":"triage"}]}' AS BLOB), NULL);
INSERT INTO records VALUES(26, 2, 7, NULL, 'main', 'model/triage:1.0/1', 'effect.result', 1, '01a224d5-028a-74bc-92ac-50e5c86cab89', 1, 1, 1795914269320, 'repeatable', X'7E39A911586A7EBA1E3B0F8C52C90D6F01ACBAC0B5446E5A5862935090490153', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"7e39a911586a7eba1e3b0f8c52c90d6f01acbac0b5446e5a5862935090490153","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":23,"output_tokens":2,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-2"}' AS BLOB), NULL);
INSERT INTO records VALUES(27, NULL, 7, NULL, NULL, NULL, 'agent.transition', 1, '01a224d5-028a-74bc-92ac-50e5c86cab89', 1, 1, 1795914269320, NULL, NULL, CAST('{"to":"completed","turn":1,"message":"m-2","label":"refund"}' AS BLOB), NULL);
INSERT INTO records VALUES(28, NULL, 6, 2, NULL, NULL, 'graph.checkpoint', 1, '01a224d5-028a-74bc-92ac-50e5c86cab89', 1, 1, 1795914269332, NULL, NULL, CAST('{"checkpoint":2,"step":1,"source":"step","deltas":[["topic",{"set":"refund"}]],"done":["triage:1.0"],"next":[{"task":"refunds:2.0","node":"refunds"},{"task":"carrier:2.1","node":"carrier"}]}' AS BLOB), NULL);
INSERT INTO records VALUES(29, 2, 8, NULL, 'main', 'model/refunds:2.0/1', 'effect.result', 1, '01a224d5-028a-74bc-92ac-50e5c86cab89', 1, 1, 1795914269336, 'repeatable', X'0AE5FF1046B06105CC9D3B7CEE17BC5118D9AA150BE1894B38C72DE8F80BB661', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"0ae5ff1046b06105cc9d3b7cee17bc5118d9aa150be1894b38c72de8f80bb661","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":28,"output_tokens":8,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-3"}' AS BLOB), NULL);
INSERT INTO records VALUES(30, NULL, 8, NULL, NULL, NULL, 'agent.transition', 1, '01a224d5-028a-74bc-92ac-50e5c86cab89', 1, 1, 1795914269336, NULL, NULL, CAST('{"to":"acting","turn":1,"message":"m-3"}' AS BLOB), NULL);
INSERT INTO records VALUES(31, 2, 9, NULL, 'main', 'model/carrier:2.1/1', 'effect.result', 1, '01a224d5-028a-74bc-92ac-50e5c86cab89', 1, 1, 1795914269340, 'repeatable', X'C3B019A15563F6C4AC869866F77926247B00CCB45986CCD05DCB7F297152F23A', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"c3b019a15563f6c4ac869866f77926247b00ccb45986ccd05dcb7f297152f23a","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":28,"output_tokens":8,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-4"}' AS BLOB), NULL);
INSERT INTO records VALUES(32, NULL, 9, NULL, NULL, NULL, 'agent.transition', 1, '01a224d5-028a-74bc-92ac-50e5c86cab89', 1, 1, 1795914269340, NULL, NULL, CAST('{"to":"acting","turn":1,"message":"m-4"}' AS BLOB), NULL);
INSERT INTO records VALUES(33, 2, 9, NULL, 'main', 'call/c-2/result', 'effect.result', 1, '01a224d5-028a-74bc-92ac-50e5c86cab89', 1, 1, 1795914269352, 'repeatable', X'6E8E0587875A1E75B2A78B4E7AEB349C8C5B83323FD595EC2FD681CA50624DAB', CAST('{"call":"c-2","tool":"lookup_order","end":"done","message":"m-5"}' AS BLOB), NULL);
INSERT INTO records VALUES(34, NULL, 9, 9, NULL, NULL, 'agent.transition', 1, '01a224d5-028a-74bc-92ac-50e5c86cab89', 1, 1, 1795914269352, NULL, NULL, CAST('{"to":"observing","turn":1,"results":["m-5"]}' AS BLOB), NULL);
INSERT INTO records VALUES(35, 2, 8, NULL, 'main', 'call/c-1/result', 'effect.result', 1, '01a224d5-028a-74bc-92ac-50e5c86cab89', 1, 1, 1795914269352, 'repeatable', X'6E8E0587875A1E75B2A78B4E7AEB349C8C5B83323FD595EC2FD681CA50624DAB', CAST('{"call":"c-1","tool":"lookup_order","end":"done","message":"m-6"}' AS BLOB), NULL);
INSERT INTO records VALUES(36, NULL, 8, 7, NULL, NULL, 'agent.transition', 1, '01a224d5-028a-74bc-92ac-50e5c86cab89', 1, 1, 1795914269352, NULL, NULL, CAST('{"to":"observing","turn":1,"results":["m-6"]}' AS BLOB), NULL);
INSERT INTO records VALUES(37, 2, 9, NULL, 'main', 'model/carrier:2.1/2', 'effect.result', 1, '01a224d5-028a-74bc-92ac-50e5c86cab89', 1, 1, 1795914269360, 'repeatable', X'C84541A1DA50770EA0D2643294C376961707F8C5CA041C8C39E41217E5F7390A', CAST('{"turn":2,"tries":1,"model":"scripted:script.toml","request":"c84541a1da50770ea0d2643294c376961707f8c5ca041c8c39e41217e5f7390a","edit":{"keep":1,"insert":["m-4","m-5"]},"usage":{"input_tokens":54,"output_tokens":7,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-7"}' AS BLOB), NULL);
INSERT INTO records VALUES(38, 2, 9, NULL, 'main', 'ask/c-3', 'ask.raised', 2, '01a224d5-028a-74bc-92ac-50e5c86cab89', 1, 1, 1795914269360, 'once', X'6E8E0587875A1E75B2A78B4E7AEB349C8C5B83323FD595EC2FD681CA50624DAB', CAST('{"id":"c-3","node":"carrier","prompt":"open_claim {\"order\":\"A-1042\"}","kind":"approval","call":"c-3","tool":"open_claim","effect":"once","arguments":{"order":"A-1042"},"hash":"6e8e0587875a1e75b2a78b4e7aeb349c8c5b83323fd595ec2fd681ca50624dab"}' AS BLOB), NULL);
INSERT INTO records VALUES(39, NULL, 9, 11, NULL, NULL, 'agent.transition', 1, '01a224d5-028a-74bc-92ac-50e5c86cab89', 1, 1, 1795914269360, NULL, NULL, CAST('{"to":"acting","turn":2,"message":"m-7"}' AS BLOB), NULL);
INSERT INTO records VALUES(40, 2, 8, NULL, 'main', 'model/refunds:2.0/2', 'effect.result', 1, '01a224d5-028a-74bc-92ac-50e5c86cab89', 1, 1, 1795914269360, 'repeatable', X'C56D2D3CF493D511240C3D777ED92D2A5E0CA65CF614C417C1B898812EC98F6D', CAST('{"turn":2,"tries":1,"model":"scripted:script.toml","request":"c56d2d3cf493d511240c3d777ed92d2a5e0ca65cf614c417c1b898812ec98f6d","edit":{"keep":1,"insert":["m-3","m-6"]},"usage":{"input_tokens":54,"output_tokens":12,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-8"}' AS BLOB), NULL);
INSERT INTO records VALUES(41, 2, 8, NULL, 'main', 'ask/c-4', 'ask.raised', 2, '01a224d5-028a-74bc-92ac-50e5c86cab89', 1, 1, 1795914269360, 'once', X'39BB57D6C5FBD77490B4A1AB928C767AED92E77AA2CBD30B9F7E2251D17A615C', CAST('{"id":"c-4","node":"refunds","prompt":"Refund 12900 cents for A-1042","kind":"approval","call":"c-4","tool":"refund","effect":"once","arguments":{"amount_cents":12900,"order":"A-1042"},"hash":"39bb57d6c5fbd77490b4a1ab928c767aed92e77aa2cbd30b9f7e2251d17a615c"}' AS BLOB), NULL);
INSERT INTO records VALUES(42, NULL, 8, 13, NULL, NULL, 'agent.transition', 1, '01a224d5-028a-74bc-92ac-50e5c86cab89', 1, 1, 1795914269360, NULL, NULL, CAST('{"to":"acting","turn":2,"message":"m-8"}' AS BLOB), NULL);
INSERT INTO records VALUES(43, NULL, 6, 5, NULL, NULL, 'run.suspended', 1, '01a224d5-028a-74bc-92ac-50e5c86cab89', 1, 1, 1795914269368, NULL, NULL, CAST('{"asks":["c-4","c-3"]}' AS BLOB), NULL);
INSERT INTO records VALUES(44, NULL, 10, NULL, NULL, NULL, 'run.opened', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269432, NULL, NULL, CAST('{"target":{"plan":"@DESK@/support.rag","config":"@DESK@/rustagents.toml"},"definition":"75c0c502a36a7e09e2e50adfc1aa45461943aa457c5c2e6a49d639cab6559872","limits":{"steps":50,"model_calls":100,"tool_calls":200,"driven":{"secs":600,"nanos":0}},"input":"m-1"}' AS BLOB), NULL);
INSERT INTO records VALUES(45, NULL, 10, 1, NULL, NULL, 'graph.checkpoint', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269432, NULL, NULL, CAST('{"checkpoint":1,"step":0,"source":"input","deltas":[["messages",{"messages":["m-1"]}]],"done":[],"next":[{"task":"triage:1.0","node":"triage"}]}' AS BLOB), NULL);
INSERT INTO records VALUES(46, 3, 11, NULL, 'main', 'model/triage:1.0/1', 'effect.result', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269436, 'repeatable', X'F872FCF7D52CAD28B701B8DE94813A8139B315FBA170CBBC7BD187E3F5114C55', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"f872fcf7d52cad28b701b8de94813a8139b315fba170cbbc7bd187e3f5114c55","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":17,"output_tokens":2,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-2"}' AS BLOB), NULL);
INSERT INTO records VALUES(47, NULL, 11, NULL, NULL, NULL, 'agent.transition', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269436, NULL, NULL, CAST('{"to":"completed","turn":1,"message":"m-2","label":"refund"}' AS BLOB), NULL);
INSERT INTO records VALUES(48, NULL, 10, 2, NULL, NULL, 'graph.checkpoint', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269436, NULL, NULL, CAST('{"checkpoint":2,"step":1,"source":"step","deltas":[["topic",{"set":"refund"}]],"done":["triage:1.0"],"next":[{"task":"refunds:2.0","node":"refunds"},{"task":"carrier:2.1","node":"carrier"}]}' AS BLOB), NULL);
INSERT INTO records VALUES(49, 3, 12, NULL, 'main', 'model/refunds:2.0/1', 'effect.result', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269444, 'repeatable', X'289A3C73800FA0AE62AE57E43896E0707F573A79253D44C13C49250D4F934C5E', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"289a3c73800fa0ae62ae57e43896e0707f573a79253d44c13c49250d4f934c5e","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":22,"output_tokens":8,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-3"}' AS BLOB), NULL);
INSERT INTO records VALUES(50, NULL, 12, NULL, NULL, NULL, 'agent.transition', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269444, NULL, NULL, CAST('{"to":"acting","turn":1,"message":"m-3"}' AS BLOB), NULL);
INSERT INTO records VALUES(51, 3, 13, NULL, 'main', 'model/carrier:2.1/1', 'effect.result', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269444, 'repeatable', X'E372844ED3060F8ADFBF3597006F9BF26DC377F40148F6A8EC3885764ADD06A5', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"e372844ed3060f8adfbf3597006f9bf26dc377f40148f6a8ec3885764add06a5","edit":{"keep":0,"insert":["m-1"]},"usage":{"input_tokens":22,"output_tokens":8,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-4"}' AS BLOB), NULL);
INSERT INTO records VALUES(52, NULL, 13, NULL, NULL, NULL, 'agent.transition', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269444, NULL, NULL, CAST('{"to":"acting","turn":1,"message":"m-4"}' AS BLOB), NULL);
INSERT INTO records VALUES(53, 3, 12, NULL, 'main', 'call/c-1/result', 'effect.result', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269444, 'repeatable', X'81CBE4ED90E86ADBC7A59B57A362F1ECAC7066661F60EA49087426571604F6E8', CAST('{"call":"c-1","tool":"lookup_order","end":"done","message":"m-5"}' AS BLOB), NULL);
INSERT INTO records VALUES(54, NULL, 12, 7, NULL, NULL, 'agent.transition', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269444, NULL, NULL, CAST('{"to":"observing","turn":1,"results":["m-5"]}' AS BLOB), NULL);
INSERT INTO records VALUES(55, 3, 13, NULL, 'main', 'call/c-2/result', 'effect.result', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269448, 'repeatable', X'81CBE4ED90E86ADBC7A59B57A362F1ECAC7066661F60EA49087426571604F6E8', CAST('{"call":"c-2","tool":"lookup_order","end":"done","message":"m-6"}' AS BLOB), NULL);
INSERT INTO records VALUES(56, NULL, 13, 9, NULL, NULL, 'agent.transition', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269448, NULL, NULL, CAST('{"to":"observing","turn":1,"results":["m-6"]}' AS BLOB), NULL);
INSERT INTO records VALUES(57, 3, 12, NULL, 'main', 'model/refunds:2.0/2', 'effect.result', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269452, 'repeatable', X'9D73BC62491E1147D8848B95D149DAC3900F050EA15D4805D333FF6F77A38916', CAST('{"turn":2,"tries":1,"model":"scripted:script.toml","request":"9d73bc62491e1147d8848b95d149dac3900f050ea15d4805d333ff6f77a38916","edit":{"keep":1,"insert":["m-3","m-5"]},"usage":{"input_tokens":49,"output_tokens":15,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-7"}' AS BLOB), NULL);
INSERT INTO records VALUES(58, NULL, 12, 11, NULL, NULL, 'agent.transition', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269452, NULL, NULL, CAST('{"to":"completed","turn":2,"message":"m-7"}' AS BLOB), NULL);
INSERT INTO records VALUES(59, 3, 13, NULL, 'main', 'model/carrier:2.1/2', 'effect.result', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269452, 'repeatable', X'2EDDEC6DE53687AD407C34E69EAEEFF6A7959A24943890FE1A44595088A5FC16', CAST('{"turn":2,"tries":1,"model":"scripted:script.toml","request":"2eddec6de53687ad407c34e69eaeeff6a7959a24943890fe1a44595088a5fc16","edit":{"keep":1,"insert":["m-4","m-6"]},"usage":{"input_tokens":49,"output_tokens":5,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-8"}' AS BLOB), NULL);
INSERT INTO records VALUES(60, NULL, 13, 13, NULL, NULL, 'agent.transition', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269452, NULL, NULL, CAST('{"to":"completed","turn":2,"message":"m-8"}' AS BLOB), NULL);
INSERT INTO records VALUES(61, 3, 10, NULL, 'main', 'write/refunds:2.0', 'graph.write', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269452, NULL, NULL, CAST('{"deltas":[["messages",{"messages":["m-3","m-5","m-7"]}]]}' AS BLOB), NULL);
INSERT INTO records VALUES(62, NULL, 10, 5, NULL, NULL, 'graph.checkpoint', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269452, NULL, NULL, CAST('{"checkpoint":3,"step":2,"source":"step","deltas":[["messages",{"messages":["m-3","m-5","m-7"]}],["messages",{"messages":["m-4","m-6","m-8"]}]],"done":["refunds:2.0","carrier:2.1"],"next":[{"task":"reply:3.0","node":"reply"}]}' AS BLOB), NULL);
INSERT INTO records VALUES(63, 3, 14, NULL, 'main', 'model/reply:3.0/1', 'effect.result', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269452, 'repeatable', X'0F6A3EFB1AF43AB0E2348D38F6B17E0C44D7DCE95476280D828012D12C666E4A', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"0f6a3efb1af43ab0e2348d38f6b17e0c44d7dce95476280d828012d12c666e4a","edit":{"keep":0,"insert":["m-1","m-3","m-5","m-7","m-4","m-6","m-8"]},"usage":{"input_tokens":89,"output_tokens":20,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-9"}' AS BLOB), NULL);
INSERT INTO records VALUES(64, NULL, 14, NULL, NULL, NULL, 'agent.transition', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269452, NULL, NULL, CAST('{"to":"completed","turn":1,"message":"m-9"}' AS BLOB), NULL);
INSERT INTO records VALUES(65, NULL, 10, 19, NULL, NULL, 'graph.checkpoint', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269464, NULL, NULL, CAST('{"checkpoint":4,"step":3,"source":"step","deltas":[["messages",{"messages":["m-9"]}]],"done":["reply:3.0"],"next":[]}' AS BLOB), NULL);
INSERT INTO records VALUES(66, NULL, 10, 22, NULL, NULL, 'run.closed', 1, '01a224d5-02fc-717f-94d8-f8cedcd4dd8a', 1, 1, 1795914269464, NULL, NULL, CAST('{"status":"completed","output":"Order B-2002 is delivered, so there is nothing to pay back. No claim is needed.","error":null,"steps":3,"usage":{"input_tokens":248,"output_tokens":58,"cached_tokens":0,"reasoning_tokens":0},"model_calls":6,"tool_calls":2}' AS BLOB), NULL);
INSERT INTO messages VALUES(10, 2, 'm-1', CAST('{"id":"m-1","role":"user","content":[{"type":"text","text":"Order A-1042 never arrived, please refund it"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(11, 2, 'm-2', CAST('{"id":"m-2","role":"assistant","content":[{"type":"text","text":"refund"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(12, 2, 'm-3', CAST('{"id":"m-3","role":"assistant","content":[],"calls":[{"id":"c-1","name":"lookup_order","arguments":"{\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(13, 2, 'm-4', CAST('{"id":"m-4","role":"assistant","content":[],"calls":[{"id":"c-2","name":"lookup_order","arguments":"{\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(14, 2, 'm-5', CAST('{"id":"m-5","role":"tool","call":"c-2","tool":"lookup_order","status":"ok","content":[{"type":"text","text":"{\"rows\":[{\"claim\":null,\"id\":\"A-1042\",\"paid_cents\":12900,\"status\":\"paid\"}]}"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(15, 2, 'm-6', CAST('{"id":"m-6","role":"tool","call":"c-1","tool":"lookup_order","status":"ok","content":[{"type":"text","text":"{\"rows\":[{\"claim\":null,\"id\":\"A-1042\",\"paid_cents\":12900,\"status\":\"paid\"}]}"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(16, 2, 'm-7', CAST('{"id":"m-7","role":"assistant","content":[],"calls":[{"id":"c-3","name":"open_claim","arguments":"{\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(17, 2, 'm-8', CAST('{"id":"m-8","role":"assistant","content":[],"calls":[{"id":"c-4","name":"refund","arguments":"{\"amount_cents\":12900,\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(18, 3, 'm-1', CAST('{"id":"m-1","role":"user","content":[{"type":"text","text":"Please refund B-2002"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(19, 3, 'm-2', CAST('{"id":"m-2","role":"assistant","content":[{"type":"text","text":"refund"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(20, 3, 'm-3', CAST('{"id":"m-3","role":"assistant","content":[],"calls":[{"id":"c-1","name":"lookup_order","arguments":"{\"order\":\"B-2002\"}","wire_id":"call_1"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(21, 3, 'm-4', CAST('{"id":"m-4","role":"assistant","content":[],"calls":[{"id":"c-2","name":"lookup_order","arguments":"{\"order\":\"B-2002\"}","wire_id":"call_1"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(22, 3, 'm-5', CAST('{"id":"m-5","role":"tool","call":"c-1","tool":"lookup_order","status":"ok","content":[{"type":"text","text":"{\"rows\":[{\"claim\":null,\"id\":\"B-2002\",\"paid_cents\":2900,\"status\":\"delivered\"}]}"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(23, 3, 'm-6', CAST('{"id":"m-6","role":"tool","call":"c-2","tool":"lookup_order","status":"ok","content":[{"type":"text","text":"{\"rows\":[{\"claim\":null,\"id\":\"B-2002\",\"paid_cents\":2900,\"status\":\"delivered\"}]}"}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(24, 3, 'm-7', CAST('{"id":"m-7","role":"assistant","content":[{"type":"text","text":"Order B-2002 is delivered, so there is nothing to pay back."}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(25, 3, 'm-8', CAST('{"id":"m-8","role":"assistant","content":[{"type":"text","text":"No claim is needed."}]}' AS BLOB), NULL);
INSERT INTO messages VALUES(26, 3, 'm-9', CAST('{"id":"m-9","role":"assistant","content":[{"type":"text","text":"Order B-2002 is delivered, so there is nothing to pay back. No claim is needed."}]}' AS BLOB), NULL);
INSERT INTO contents VALUES(2, X'75C0C502A36A7E09E2E50ADFC1AA45461943AA457C5C2E6A49D639CAB6559872', CAST('{"blueprint":{"channels":[{"name":"messages","reducer":"messages"},{"name":"topic","reducer":"overwrite"}],"name":"support","nodes":[{"kind":{"agent":{"model":"default","output":"topic","prompt":"Triage. Answer with one word: refund or other.","tools":[]}},"name":"triage","way":{"routes":[{"label":"refund","targets":["refunds","carrier"]},{"label":"other","targets":["reply"]}]}},{"kind":{"agent":{"model":"default","prompt":"Refund clerk. Look the order up; refund it in full if it is paid.","tools":["lookup_order","refund"]}},"name":"refunds","way":{"next":["reply"]}},{"kind":{"agent":{"model":"default","prompt":"Carrier clerk. Look the order up; open a claim if it was shipped.","tools":["lookup_order","open_claim"]}},"name":"carrier","way":{"next":["reply"]}},{"kind":{"agent":{"model":"default","prompt":"Reply. One short answer to the customer.","tools":[]}},"name":"reply","way":{"next":["END"]}}],"recursion_limit":20,"start":["triage"],"version":1},"tools":[{"description":"Find an order by its number.","effect":"repeatable","input_schema":{"additionalProperties":false,"properties":{"order":{"pattern":"^[A-Z]-[0-9]{4}$","type":"string"}},"required":["order"],"type":"object"},"max_output_bytes":65536,"name":"lookup_order","timeout":{"nanos":0,"secs":30}},{"approval":"ask","description":"Open a claim with the carrier.","effect":"once","input_schema":{"additionalProperties":false,"properties":{"order":{"type":"string"}},"required":["order"],"type":"object"},"max_output_bytes":65536,"name":"open_claim","timeout":{"nanos":0,"secs":30}},{"approval":"ask","description":"Pay the full price of a paid order back.","effect":"once","input_schema":{"additionalProperties":false,"properties":{"amount_cents":{"minimum":1,"type":"integer"},"order":{"type":"string"}},"required":["order","amount_cents"],"type":"object"},"max_output_bytes":16384,"name":"refund","timeout":{"nanos":0,"secs":5}}],"version":1}' AS BLOB));
INSERT INTO contents VALUES(3, X'75C0C502A36A7E09E2E50ADFC1AA45461943AA457C5C2E6A49D639CAB6559872', CAST('{"blueprint":{"channels":[{"name":"messages","reducer":"messages"},{"name":"topic","reducer":"overwrite"}],"name":"support","nodes":[{"kind":{"agent":{"model":"default","output":"topic","prompt":"Triage. Answer with one word: refund or other.","tools":[]}},"name":"triage","way":{"routes":[{"label":"refund","targets":["refunds","carrier"]},{"label":"other","targets":["reply"]}]}},{"kind":{"agent":{"model":"default","prompt":"Refund clerk. Look the order up; refund it in full if it is paid.","tools":["lookup_order","refund"]}},"name":"refunds","way":{"next":["reply"]}},{"kind":{"agent":{"model":"default","prompt":"Carrier clerk. Look the order up; open a claim if it was shipped.","tools":["lookup_order","open_claim"]}},"name":"carrier","way":{"next":["reply"]}},{"kind":{"agent":{"model":"default","prompt":"Reply. One short answer to the customer.","tools":[]}},"name":"reply","way":{"next":["END"]}}],"recursion_limit":20,"start":["triage"],"version":1},"tools":[{"description":"Find an order by its number.","effect":"repeatable","input_schema":{"additionalProperties":false,"properties":{"order":{"pattern":"^[A-Z]-[0-9]{4}$","type":"string"}},"required":["order"],"type":"object"},"max_output_bytes":65536,"name":"lookup_order","timeout":{"nanos":0,"secs":30}},{"approval":"ask","description":"Open a claim with the carrier.","effect":"once","input_schema":{"additionalProperties":false,"properties":{"order":{"type":"string"}},"required":["order"],"type":"object"},"max_output_bytes":65536,"name":"open_claim","timeout":{"nanos":0,"secs":30}},{"approval":"ask","description":"Pay the full price of a paid order back.","effect":"once","input_schema":{"additionalProperties":false,"properties":{"amount_cents":{"minimum":1,"type":"integer"},"order":{"type":"string"}},"required":["order","amount_cents"],"type":"object"},"max_output_bytes":16384,"name":"refund","timeout":{"nanos":0,"secs":5}}],"version":1}' AS BLOB));
INSERT INTO removed VALUES(2, 1);
PRAGMA application_id = 0x5241474A;
PRAGMA user_version = 4;
