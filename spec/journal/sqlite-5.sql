-- A store of tables version 5: `ticket-7` waits for two answers, `ticket-8` is done; a
-- thread before them was deleted. The plan's folder is /srv/desk: each row has its sum.

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
  content BLOB,                     -- digest of the body in contents
  sum INTEGER                       -- of the record; NULL in rows of earlier versions
) STRICT;
CREATE UNIQUE INDEX records_key ON records(thread, branch, key) WHERE key IS NOT NULL;
CREATE TABLE messages(
  id INTEGER PRIMARY KEY,           -- in the order of writing
  thread INTEGER NOT NULL REFERENCES threads(id),
  name TEXT NOT NULL,
  body BLOB,                        -- UTF-8 JSON, or NULL where content holds it
  content BLOB,
  sum INTEGER,                      -- of name and body, as above
  UNIQUE(thread, name)
) STRICT;
CREATE TABLE contents(
  family INTEGER NOT NULL,
  digest BLOB NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY(family, digest)
) STRICT;
CREATE TABLE removed(epoch INTEGER NOT NULL, lock INTEGER NOT NULL) STRICT;

INSERT INTO threads VALUES(1, 'ticket-7', 1, 3, 1, '{"process":24172,"since_ms":1795945511498}', 0, 0, 1795945511503, 1795945511503);
INSERT INTO threads VALUES(2, 'ticket-8', 2, 4, 1, '{"process":26091,"since_ms":1795945536338}', 20, 8, 1795945511579, 1795945536349);
INSERT INTO chains VALUES(1, 1, 'main', '', NULL);
INSERT INTO chains VALUES(2, 1, 'main', 'triage:1.0', NULL);
INSERT INTO chains VALUES(3, 1, 'main', 'refunds:2.0', NULL);
INSERT INTO chains VALUES(4, 1, 'main', 'carrier:2.1', NULL);
INSERT INTO chains VALUES(5, 2, 'main', '', 20);
INSERT INTO chains VALUES(6, 2, 'main', 'triage:1.0', 4);
INSERT INTO chains VALUES(7, 2, 'main', 'refunds:2.0', 19);
INSERT INTO chains VALUES(8, 2, 'main', 'carrier:2.1', 16);
INSERT INTO chains VALUES(9, 2, 'main', 'reply:3.0', NULL);
INSERT INTO record_spans VALUES(4294967297, 1, 20);
INSERT INTO record_spans VALUES(8589934593, 21, NULL);
INSERT INTO message_spans VALUES(4294967297, 1, 8);
INSERT INTO message_spans VALUES(8589934593, 9, NULL);
INSERT INTO records VALUES(1, NULL, 1, NULL, NULL, NULL, 'run.opened', 1, '01a226b1-ba54-71f0-8d57-e78106f53271', 1, 3, 1795945511506, NULL, NULL, CAST('{"target":{"plan":"/srv/desk/support.rag","config":"/srv/desk/rustagents.toml"},"definition":"75c0c502a36a7e09e2e50adfc1aa45461943aa457c5c2e6a49d639cab6559872","limits":{"steps":50,"model_calls":100,"tool_calls":200,"driven":{"secs":600,"nanos":0}},"input":"m-1"}' AS BLOB), NULL, 140850294);
INSERT INTO records VALUES(2, NULL, 1, 1, NULL, NULL, 'graph.checkpoint', 1, '01a226b1-ba54-71f0-8d57-e78106f53271', 1, 3, 1795945511506, NULL, NULL, CAST('{"checkpoint":1,"step":0,"source":"input","deltas":[["messages",{"messages":["m-1"]}]],"done":[],"next":[{"task":"triage:1.0","node":"triage"}]}' AS BLOB), NULL, 4233656073);
INSERT INTO records VALUES(3, 1, 2, NULL, 'main', 'model/triage:1.0/1', 'effect.result', 2, '01a226b1-ba54-71f0-8d57-e78106f53271', 1, 3, 1795945511506, 'repeatable', X'7E39A911586A7EBA1E3B0F8C52C90D6F01ACBAC0B5446E5A5862935090490153', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"7e39a911586a7eba1e3b0f8c52c90d6f01acbac0b5446e5a5862935090490153","edit":{"given":1,"keep":0,"insert":[]},"usage":{"input_tokens":23,"output_tokens":2,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-2"}' AS BLOB), NULL, 2652526712);
INSERT INTO records VALUES(4, NULL, 2, NULL, NULL, NULL, 'agent.transition', 1, '01a226b1-ba54-71f0-8d57-e78106f53271', 1, 3, 1795945511506, NULL, NULL, CAST('{"to":"completed","turn":1,"message":"m-2","label":"refund"}' AS BLOB), NULL, 1379071509);
INSERT INTO records VALUES(5, NULL, 1, 2, NULL, NULL, 'graph.checkpoint', 1, '01a226b1-ba54-71f0-8d57-e78106f53271', 1, 3, 1795945511510, NULL, NULL, CAST('{"checkpoint":2,"step":1,"source":"step","deltas":[["topic",{"set":"refund"}]],"done":["triage:1.0"],"next":[{"task":"refunds:2.0","node":"refunds"},{"task":"carrier:2.1","node":"carrier"}]}' AS BLOB), NULL, 4014681445);
INSERT INTO records VALUES(6, 1, 3, NULL, 'main', 'model/refunds:2.0/1', 'effect.result', 2, '01a226b1-ba54-71f0-8d57-e78106f53271', 1, 3, 1795945511518, 'repeatable', X'0AE5FF1046B06105CC9D3B7CEE17BC5118D9AA150BE1894B38C72DE8F80BB661', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"0ae5ff1046b06105cc9d3b7cee17bc5118d9aa150be1894b38c72de8f80bb661","edit":{"given":1,"keep":0,"insert":[]},"usage":{"input_tokens":28,"output_tokens":8,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-3"}' AS BLOB), NULL, 424849002);
INSERT INTO records VALUES(7, NULL, 3, NULL, NULL, NULL, 'agent.transition', 1, '01a226b1-ba54-71f0-8d57-e78106f53271', 1, 3, 1795945511518, NULL, NULL, CAST('{"to":"acting","turn":1,"message":"m-3"}' AS BLOB), NULL, 204193972);
INSERT INTO records VALUES(8, 1, 4, NULL, 'main', 'model/carrier:2.1/1', 'effect.result', 2, '01a226b1-ba54-71f0-8d57-e78106f53271', 1, 3, 1795945511518, 'repeatable', X'C3B019A15563F6C4AC869866F77926247B00CCB45986CCD05DCB7F297152F23A', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"c3b019a15563f6c4ac869866f77926247b00ccb45986ccd05dcb7f297152f23a","edit":{"given":1,"keep":0,"insert":[]},"usage":{"input_tokens":28,"output_tokens":8,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-4"}' AS BLOB), NULL, 2911507585);
INSERT INTO records VALUES(9, NULL, 4, NULL, NULL, NULL, 'agent.transition', 1, '01a226b1-ba54-71f0-8d57-e78106f53271', 1, 3, 1795945511518, NULL, NULL, CAST('{"to":"acting","turn":1,"message":"m-4"}' AS BLOB), NULL, 2560296670);
INSERT INTO records VALUES(10, 1, 3, NULL, 'main', 'call/c-1/result', 'effect.result', 1, '01a226b1-ba54-71f0-8d57-e78106f53271', 1, 3, 1795945511522, 'repeatable', X'6E8E0587875A1E75B2A78B4E7AEB349C8C5B83323FD595EC2FD681CA50624DAB', CAST('{"call":"c-1","tool":"lookup_order","end":"done","message":"m-5"}' AS BLOB), NULL, 520248773);
INSERT INTO records VALUES(11, NULL, 3, 7, NULL, NULL, 'agent.transition', 1, '01a226b1-ba54-71f0-8d57-e78106f53271', 1, 3, 1795945511522, NULL, NULL, CAST('{"to":"observing","turn":1,"results":["m-5"]}' AS BLOB), NULL, 137541174);
INSERT INTO records VALUES(12, 1, 4, NULL, 'main', 'call/c-2/result', 'effect.result', 1, '01a226b1-ba54-71f0-8d57-e78106f53271', 1, 3, 1795945511522, 'repeatable', X'6E8E0587875A1E75B2A78B4E7AEB349C8C5B83323FD595EC2FD681CA50624DAB', CAST('{"call":"c-2","tool":"lookup_order","end":"done","message":"m-6"}' AS BLOB), NULL, 1484179028);
INSERT INTO records VALUES(13, NULL, 4, 9, NULL, NULL, 'agent.transition', 1, '01a226b1-ba54-71f0-8d57-e78106f53271', 1, 3, 1795945511522, NULL, NULL, CAST('{"to":"observing","turn":1,"results":["m-6"]}' AS BLOB), NULL, 1257968637);
INSERT INTO records VALUES(14, 1, 3, NULL, 'main', 'model/refunds:2.0/2', 'effect.result', 1, '01a226b1-ba54-71f0-8d57-e78106f53271', 1, 3, 1795945511526, 'repeatable', X'C56D2D3CF493D511240C3D777ED92D2A5E0CA65CF614C417C1B898812EC98F6D', CAST('{"turn":2,"tries":1,"model":"scripted:script.toml","request":"c56d2d3cf493d511240c3d777ed92d2a5e0ca65cf614c417c1b898812ec98f6d","edit":{"keep":1,"insert":["m-3","m-5"]},"usage":{"input_tokens":54,"output_tokens":12,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-7"}' AS BLOB), NULL, 1114685214);
INSERT INTO records VALUES(15, 1, 3, NULL, 'main', 'ask/c-3', 'ask.raised', 2, '01a226b1-ba54-71f0-8d57-e78106f53271', 1, 3, 1795945511526, 'once', X'39BB57D6C5FBD77490B4A1AB928C767AED92E77AA2CBD30B9F7E2251D17A615C', CAST('{"id":"c-3","node":"refunds","prompt":"Refund 12900 cents for A-1042","kind":"approval","call":"c-3","tool":"refund","effect":"once","arguments":{"amount_cents":12900,"order":"A-1042"},"hash":"39bb57d6c5fbd77490b4a1ab928c767aed92e77aa2cbd30b9f7e2251d17a615c"}' AS BLOB), NULL, 2181321105);
INSERT INTO records VALUES(16, NULL, 3, 11, NULL, NULL, 'agent.transition', 1, '01a226b1-ba54-71f0-8d57-e78106f53271', 1, 3, 1795945511526, NULL, NULL, CAST('{"to":"acting","turn":2,"message":"m-7"}' AS BLOB), NULL, 567668656);
INSERT INTO records VALUES(17, 1, 4, NULL, 'main', 'model/carrier:2.1/2', 'effect.result', 1, '01a226b1-ba54-71f0-8d57-e78106f53271', 1, 3, 1795945511530, 'repeatable', X'C84541A1DA50770EA0D2643294C376961707F8C5CA041C8C39E41217E5F7390A', CAST('{"turn":2,"tries":1,"model":"scripted:script.toml","request":"c84541a1da50770ea0d2643294c376961707f8c5ca041c8c39e41217e5f7390a","edit":{"keep":1,"insert":["m-4","m-6"]},"usage":{"input_tokens":54,"output_tokens":7,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-8"}' AS BLOB), NULL, 1376152452);
INSERT INTO records VALUES(18, 1, 4, NULL, 'main', 'ask/c-4', 'ask.raised', 2, '01a226b1-ba54-71f0-8d57-e78106f53271', 1, 3, 1795945511530, 'once', X'6E8E0587875A1E75B2A78B4E7AEB349C8C5B83323FD595EC2FD681CA50624DAB', CAST('{"id":"c-4","node":"carrier","prompt":"open_claim {\"order\":\"A-1042\"}","kind":"approval","call":"c-4","tool":"open_claim","effect":"once","arguments":{"order":"A-1042"},"hash":"6e8e0587875a1e75b2a78b4e7aeb349c8c5b83323fd595ec2fd681ca50624dab"}' AS BLOB), NULL, 2983881453);
INSERT INTO records VALUES(19, NULL, 4, 13, NULL, NULL, 'agent.transition', 1, '01a226b1-ba54-71f0-8d57-e78106f53271', 1, 3, 1795945511530, NULL, NULL, CAST('{"to":"acting","turn":2,"message":"m-8"}' AS BLOB), NULL, 450822858);
INSERT INTO records VALUES(20, NULL, 1, 5, NULL, NULL, 'run.suspended', 1, '01a226b1-ba54-71f0-8d57-e78106f53271', 1, 3, 1795945511534, NULL, NULL, CAST('{"asks":["c-3","c-4"]}' AS BLOB), NULL, 3996656240);
INSERT INTO records VALUES(21, NULL, 5, NULL, NULL, NULL, 'run.opened', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 1, 3, 1795945511582, NULL, NULL, CAST('{"target":{"plan":"/srv/desk/support.rag","config":"/srv/desk/rustagents.toml"},"definition":"75c0c502a36a7e09e2e50adfc1aa45461943aa457c5c2e6a49d639cab6559872","limits":{"steps":50,"model_calls":100,"tool_calls":200,"driven":{"secs":600,"nanos":0}},"input":"m-1"}' AS BLOB), NULL, 241345512);
INSERT INTO records VALUES(22, NULL, 5, 1, NULL, NULL, 'graph.checkpoint', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 1, 3, 1795945511582, NULL, NULL, CAST('{"checkpoint":1,"step":0,"source":"input","deltas":[["messages",{"messages":["m-1"]}]],"done":[],"next":[{"task":"triage:1.0","node":"triage"}]}' AS BLOB), NULL, 3303101806);
INSERT INTO records VALUES(23, 2, 6, NULL, 'main', 'model/triage:1.0/1', 'effect.result', 2, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 1, 3, 1795945511586, 'repeatable', X'7E39A911586A7EBA1E3B0F8C52C90D6F01ACBAC0B5446E5A5862935090490153', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"7e39a911586a7eba1e3b0f8c52c90d6f01acbac0b5446e5a5862935090490153","edit":{"given":1,"keep":0,"insert":[]},"usage":{"input_tokens":23,"output_tokens":2,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-2"}' AS BLOB), NULL, 3264834916);
INSERT INTO records VALUES(24, NULL, 6, NULL, NULL, NULL, 'agent.transition', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 1, 3, 1795945511586, NULL, NULL, CAST('{"to":"completed","turn":1,"message":"m-2","label":"refund"}' AS BLOB), NULL, 2338399824);
INSERT INTO records VALUES(25, NULL, 5, 2, NULL, NULL, 'graph.checkpoint', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 1, 3, 1795945511586, NULL, NULL, CAST('{"checkpoint":2,"step":1,"source":"step","deltas":[["topic",{"set":"refund"}]],"done":["triage:1.0"],"next":[{"task":"refunds:2.0","node":"refunds"},{"task":"carrier:2.1","node":"carrier"}]}' AS BLOB), NULL, 1471329449);
INSERT INTO records VALUES(26, 2, 7, NULL, 'main', 'model/refunds:2.0/1', 'effect.result', 2, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 1, 3, 1795945511598, 'repeatable', X'0AE5FF1046B06105CC9D3B7CEE17BC5118D9AA150BE1894B38C72DE8F80BB661', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"0ae5ff1046b06105cc9d3b7cee17bc5118d9aa150be1894b38c72de8f80bb661","edit":{"given":1,"keep":0,"insert":[]},"usage":{"input_tokens":28,"output_tokens":8,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-3"}' AS BLOB), NULL, 2664273277);
INSERT INTO records VALUES(27, NULL, 7, NULL, NULL, NULL, 'agent.transition', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 1, 3, 1795945511598, NULL, NULL, CAST('{"to":"acting","turn":1,"message":"m-3"}' AS BLOB), NULL, 3149648853);
INSERT INTO records VALUES(28, 2, 8, NULL, 'main', 'model/carrier:2.1/1', 'effect.result', 2, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 1, 3, 1795945511598, 'repeatable', X'C3B019A15563F6C4AC869866F77926247B00CCB45986CCD05DCB7F297152F23A', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"c3b019a15563f6c4ac869866f77926247b00ccb45986ccd05dcb7f297152f23a","edit":{"given":1,"keep":0,"insert":[]},"usage":{"input_tokens":28,"output_tokens":8,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-4"}' AS BLOB), NULL, 706031510);
INSERT INTO records VALUES(29, NULL, 8, NULL, NULL, NULL, 'agent.transition', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 1, 3, 1795945511598, NULL, NULL, CAST('{"to":"acting","turn":1,"message":"m-4"}' AS BLOB), NULL, 789255615);
INSERT INTO records VALUES(30, 2, 8, NULL, 'main', 'call/c-2/result', 'effect.result', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 1, 3, 1795945511606, 'repeatable', X'6E8E0587875A1E75B2A78B4E7AEB349C8C5B83323FD595EC2FD681CA50624DAB', CAST('{"call":"c-2","tool":"lookup_order","end":"done","message":"m-5"}' AS BLOB), NULL, 1050341499);
INSERT INTO records VALUES(31, NULL, 8, 9, NULL, NULL, 'agent.transition', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 1, 3, 1795945511606, NULL, NULL, CAST('{"to":"observing","turn":1,"results":["m-5"]}' AS BLOB), NULL, 3531418938);
INSERT INTO records VALUES(32, 2, 7, NULL, 'main', 'call/c-1/result', 'effect.result', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 1, 3, 1795945511606, 'repeatable', X'6E8E0587875A1E75B2A78B4E7AEB349C8C5B83323FD595EC2FD681CA50624DAB', CAST('{"call":"c-1","tool":"lookup_order","end":"done","message":"m-6"}' AS BLOB), NULL, 2045668330);
INSERT INTO records VALUES(33, NULL, 7, 7, NULL, NULL, 'agent.transition', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 1, 3, 1795945511606, NULL, NULL, CAST('{"to":"observing","turn":1,"results":["m-6"]}' AS BLOB), NULL, 2427750641);
INSERT INTO records VALUES(34, 2, 8, NULL, 'main', 'model/carrier:2.1/2', 'effect.result', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 1, 3, 1795945511606, 'repeatable', X'C84541A1DA50770EA0D2643294C376961707F8C5CA041C8C39E41217E5F7390A', CAST('{"turn":2,"tries":1,"model":"scripted:script.toml","request":"c84541a1da50770ea0d2643294c376961707f8c5ca041c8c39e41217e5f7390a","edit":{"keep":1,"insert":["m-4","m-5"]},"usage":{"input_tokens":54,"output_tokens":7,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-7"}' AS BLOB), NULL, 1156135871);
INSERT INTO records VALUES(35, 2, 8, NULL, 'main', 'ask/c-3', 'ask.raised', 2, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 1, 3, 1795945511606, 'once', X'6E8E0587875A1E75B2A78B4E7AEB349C8C5B83323FD595EC2FD681CA50624DAB', CAST('{"id":"c-3","node":"carrier","prompt":"open_claim {\"order\":\"A-1042\"}","kind":"approval","call":"c-3","tool":"open_claim","effect":"once","arguments":{"order":"A-1042"},"hash":"6e8e0587875a1e75b2a78b4e7aeb349c8c5b83323fd595ec2fd681ca50624dab"}' AS BLOB), NULL, 3444181625);
INSERT INTO records VALUES(36, NULL, 8, 11, NULL, NULL, 'agent.transition', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 1, 3, 1795945511606, NULL, NULL, CAST('{"to":"acting","turn":2,"message":"m-7"}' AS BLOB), NULL, 1195135438);
INSERT INTO records VALUES(37, 2, 7, NULL, 'main', 'model/refunds:2.0/2', 'effect.result', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 1, 3, 1795945511614, 'repeatable', X'C56D2D3CF493D511240C3D777ED92D2A5E0CA65CF614C417C1B898812EC98F6D', CAST('{"turn":2,"tries":1,"model":"scripted:script.toml","request":"c56d2d3cf493d511240c3d777ed92d2a5e0ca65cf614c417c1b898812ec98f6d","edit":{"keep":1,"insert":["m-3","m-6"]},"usage":{"input_tokens":54,"output_tokens":12,"cached_tokens":0,"reasoning_tokens":0},"finish":"tool_calls","message":"m-8"}' AS BLOB), NULL, 1120624215);
INSERT INTO records VALUES(38, 2, 7, NULL, 'main', 'ask/c-4', 'ask.raised', 2, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 1, 3, 1795945511614, 'once', X'39BB57D6C5FBD77490B4A1AB928C767AED92E77AA2CBD30B9F7E2251D17A615C', CAST('{"id":"c-4","node":"refunds","prompt":"Refund 12900 cents for A-1042","kind":"approval","call":"c-4","tool":"refund","effect":"once","arguments":{"amount_cents":12900,"order":"A-1042"},"hash":"39bb57d6c5fbd77490b4a1ab928c767aed92e77aa2cbd30b9f7e2251d17a615c"}' AS BLOB), NULL, 3110363797);
INSERT INTO records VALUES(39, NULL, 7, 13, NULL, NULL, 'agent.transition', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 1, 3, 1795945511614, NULL, NULL, CAST('{"to":"acting","turn":2,"message":"m-8"}' AS BLOB), NULL, 1475032410);
INSERT INTO records VALUES(40, NULL, 5, 5, NULL, NULL, 'run.suspended', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 1, 3, 1795945511618, NULL, NULL, CAST('{"asks":["c-4","c-3"]}' AS BLOB), NULL, 3826249766);
INSERT INTO records VALUES(41, 2, 5, NULL, 'main', 'answer/c-4', 'ask.answered', 2, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 2, 4, 1795945536354, NULL, NULL, CAST('{"decision":"approve","hash":"39bb57d6c5fbd77490b4a1ab928c767aed92e77aa2cbd30b9f7e2251d17a615c"}' AS BLOB), NULL, 2606282972);
INSERT INTO records VALUES(42, 2, 5, NULL, 'main', 'answer/c-3', 'ask.answered', 2, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 2, 4, 1795945536354, NULL, NULL, CAST('{"decision":"approve","hash":"6e8e0587875a1e75b2a78b4e7aeb349c8c5b83323fd595ec2fd681ca50624dab"}' AS BLOB), NULL, 1244021879);
INSERT INTO records VALUES(43, NULL, 5, 20, NULL, NULL, 'run.attempt', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 2, 4, 1795945536354, NULL, NULL, CAST('{"attempt":2}' AS BLOB), NULL, 2542589951);
INSERT INTO records VALUES(44, 2, 7, NULL, 'main', 'call/c-4/intent/1', 'effect.intent', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 2, 4, 1795945536362, 'once', X'39BB57D6C5FBD77490B4A1AB928C767AED92E77AA2CBD30B9F7E2251D17A615C', CAST('{"call":"c-4","tool":"refund","number":1,"approval":"c-4"}' AS BLOB), NULL, 1281179854);
INSERT INTO records VALUES(45, 2, 8, NULL, 'main', 'call/c-3/intent/1', 'effect.intent', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 2, 4, 1795945536366, 'once', X'6E8E0587875A1E75B2A78B4E7AEB349C8C5B83323FD595EC2FD681CA50624DAB', CAST('{"call":"c-3","tool":"open_claim","number":1,"approval":"c-3"}' AS BLOB), NULL, 2381722871);
INSERT INTO records VALUES(46, 2, 7, NULL, 'main', 'call/c-4/result', 'effect.result', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 2, 4, 1795945536374, 'once', X'39BB57D6C5FBD77490B4A1AB928C767AED92E77AA2CBD30B9F7E2251D17A615C', CAST('{"call":"c-4","tool":"refund","end":"done","message":"m-9"}' AS BLOB), NULL, 1364689535);
INSERT INTO records VALUES(47, NULL, 7, 19, NULL, NULL, 'agent.transition', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 2, 4, 1795945536374, NULL, NULL, CAST('{"to":"observing","turn":2,"results":["m-9"]}' AS BLOB), NULL, 2576442307);
INSERT INTO records VALUES(48, 2, 8, NULL, 'main', 'call/c-3/result', 'effect.result', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 2, 4, 1795945536378, 'once', X'6E8E0587875A1E75B2A78B4E7AEB349C8C5B83323FD595EC2FD681CA50624DAB', CAST('{"call":"c-3","tool":"open_claim","end":"done","message":"m-10"}' AS BLOB), NULL, 2433221888);
INSERT INTO records VALUES(49, NULL, 8, 16, NULL, NULL, 'agent.transition', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 2, 4, 1795945536378, NULL, NULL, CAST('{"to":"observing","turn":2,"results":["m-10"]}' AS BLOB), NULL, 638831892);
INSERT INTO records VALUES(50, 2, 7, NULL, 'main', 'model/refunds:2.0/3', 'effect.result', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 2, 4, 1795945536382, 'repeatable', X'820F4160AFB16982703771CBE13F1603FC1C5BFEDE77C5954BA4F0AC04866256', CAST('{"turn":3,"tries":1,"model":"scripted:script.toml","request":"820f4160afb16982703771cbe13f1603fc1c5bfede77c5954ba4f0ac04866256","edit":{"keep":3,"insert":["m-8","m-9"]},"usage":{"input_tokens":81,"output_tokens":7,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-11"}' AS BLOB), NULL, 1357398151);
INSERT INTO records VALUES(51, NULL, 7, 27, NULL, NULL, 'agent.transition', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 2, 4, 1795945536382, NULL, NULL, CAST('{"to":"completed","turn":3,"message":"m-11"}' AS BLOB), NULL, 852948921);
INSERT INTO records VALUES(52, 2, 8, NULL, 'main', 'model/carrier:2.1/3', 'effect.result', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 2, 4, 1795945536382, 'repeatable', X'946D29D1CBB49BCAEA4B7437C3352E1FB8D891818E9D560DD39A795CD42C135C', CAST('{"turn":3,"tries":1,"model":"scripted:script.toml","request":"946d29d1cbb49bcaea4b7437c3352e1fb8d891818e9d560dd39a795cd42c135c","edit":{"keep":3,"insert":["m-7","m-10"]},"usage":{"input_tokens":71,"output_tokens":9,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-12"}' AS BLOB), NULL, 542212270);
INSERT INTO records VALUES(53, NULL, 8, 29, NULL, NULL, 'agent.transition', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 2, 4, 1795945536382, NULL, NULL, CAST('{"to":"completed","turn":3,"message":"m-12"}' AS BLOB), NULL, 2597633147);
INSERT INTO records VALUES(54, NULL, 5, 23, NULL, NULL, 'graph.checkpoint', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 2, 4, 1795945536382, NULL, NULL, CAST('{"checkpoint":3,"step":2,"source":"step","deltas":[["messages",{"messages":["m-3","m-6","m-8","m-9","m-11"]}],["messages",{"messages":["m-4","m-5","m-7","m-10","m-12"]}]],"done":["refunds:2.0","carrier:2.1"],"next":[{"task":"reply:3.0","node":"reply"}]}' AS BLOB), NULL, 1322021861);
INSERT INTO records VALUES(55, 2, 9, NULL, 'main', 'model/reply:3.0/1', 'effect.result', 2, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 2, 4, 1795945536386, 'repeatable', X'6B512728000D0D7027BFF47BFB6B44367DBD7F3B9D5FA02918EC16445C2F45FF', CAST('{"turn":1,"tries":1,"model":"scripted:script.toml","request":"6b512728000d0d7027bff47bfb6b44367dbd7f3b9d5fa02918ec16445c2f45ff","edit":{"given":11,"keep":0,"insert":[]},"usage":{"input_tokens":133,"output_tokens":15,"cached_tokens":0,"reasoning_tokens":0},"finish":"stop","message":"m-13"}' AS BLOB), NULL, 825582681);
INSERT INTO records VALUES(56, NULL, 9, NULL, NULL, NULL, 'agent.transition', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 2, 4, 1795945536386, NULL, NULL, CAST('{"to":"completed","turn":1,"message":"m-13"}' AS BLOB), NULL, 1670408906);
INSERT INTO records VALUES(57, NULL, 5, 34, NULL, NULL, 'graph.checkpoint', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 2, 4, 1795945536386, NULL, NULL, CAST('{"checkpoint":4,"step":3,"source":"step","deltas":[["messages",{"messages":["m-13"]}]],"done":["reply:3.0"],"next":[]}' AS BLOB), NULL, 103806975);
INSERT INTO records VALUES(58, NULL, 5, 37, NULL, NULL, 'run.closed', 1, '01a226b1-baa2-743b-9090-1b5aa69af0eb', 2, 4, 1795945536386, NULL, NULL, CAST('{"status":"completed","output":"129.0 € are on their way. A claim with the carrier is open.","error":null,"steps":3,"usage":{"input_tokens":472,"output_tokens":68,"cached_tokens":0,"reasoning_tokens":0},"model_calls":8,"tool_calls":4}' AS BLOB), NULL, 4214222126);
INSERT INTO messages VALUES(1, 1, 'm-1', CAST('{"id":"m-1","role":"user","content":[{"type":"text","text":"Order A-1042 never arrived, please refund it"}]}' AS BLOB), NULL, 477397964);
INSERT INTO messages VALUES(2, 1, 'm-2', CAST('{"id":"m-2","role":"assistant","content":[{"type":"text","text":"refund"}]}' AS BLOB), NULL, 3557431893);
INSERT INTO messages VALUES(3, 1, 'm-3', CAST('{"id":"m-3","role":"assistant","content":[],"calls":[{"id":"c-1","name":"lookup_order","arguments":"{\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL, 883417882);
INSERT INTO messages VALUES(4, 1, 'm-4', CAST('{"id":"m-4","role":"assistant","content":[],"calls":[{"id":"c-2","name":"lookup_order","arguments":"{\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL, 3000343522);
INSERT INTO messages VALUES(5, 1, 'm-5', CAST('{"id":"m-5","role":"tool","call":"c-1","tool":"lookup_order","status":"ok","content":[{"type":"text","text":"{\"rows\":[{\"claim\":null,\"id\":\"A-1042\",\"paid_cents\":12900,\"status\":\"paid\"}]}"}]}' AS BLOB), NULL, 1756775211);
INSERT INTO messages VALUES(6, 1, 'm-6', CAST('{"id":"m-6","role":"tool","call":"c-2","tool":"lookup_order","status":"ok","content":[{"type":"text","text":"{\"rows\":[{\"claim\":null,\"id\":\"A-1042\",\"paid_cents\":12900,\"status\":\"paid\"}]}"}]}' AS BLOB), NULL, 4225748789);
INSERT INTO messages VALUES(7, 1, 'm-7', CAST('{"id":"m-7","role":"assistant","content":[],"calls":[{"id":"c-3","name":"refund","arguments":"{\"amount_cents\":12900,\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL, 2834282509);
INSERT INTO messages VALUES(8, 1, 'm-8', CAST('{"id":"m-8","role":"assistant","content":[],"calls":[{"id":"c-4","name":"open_claim","arguments":"{\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL, 3900099452);
INSERT INTO messages VALUES(9, 2, 'm-1', CAST('{"id":"m-1","role":"user","content":[{"type":"text","text":"Order A-1042 never arrived, please refund it"}]}' AS BLOB), NULL, 477397964);
INSERT INTO messages VALUES(10, 2, 'm-2', CAST('{"id":"m-2","role":"assistant","content":[{"type":"text","text":"refund"}]}' AS BLOB), NULL, 3557431893);
INSERT INTO messages VALUES(11, 2, 'm-3', CAST('{"id":"m-3","role":"assistant","content":[],"calls":[{"id":"c-1","name":"lookup_order","arguments":"{\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL, 883417882);
INSERT INTO messages VALUES(12, 2, 'm-4', CAST('{"id":"m-4","role":"assistant","content":[],"calls":[{"id":"c-2","name":"lookup_order","arguments":"{\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL, 3000343522);
INSERT INTO messages VALUES(13, 2, 'm-5', CAST('{"id":"m-5","role":"tool","call":"c-2","tool":"lookup_order","status":"ok","content":[{"type":"text","text":"{\"rows\":[{\"claim\":null,\"id\":\"A-1042\",\"paid_cents\":12900,\"status\":\"paid\"}]}"}]}' AS BLOB), NULL, 1537204591);
INSERT INTO messages VALUES(14, 2, 'm-6', CAST('{"id":"m-6","role":"tool","call":"c-1","tool":"lookup_order","status":"ok","content":[{"type":"text","text":"{\"rows\":[{\"claim\":null,\"id\":\"A-1042\",\"paid_cents\":12900,\"status\":\"paid\"}]}"}]}' AS BLOB), NULL, 3371593073);
INSERT INTO messages VALUES(15, 2, 'm-7', CAST('{"id":"m-7","role":"assistant","content":[],"calls":[{"id":"c-3","name":"open_claim","arguments":"{\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL, 419198954);
INSERT INTO messages VALUES(16, 2, 'm-8', CAST('{"id":"m-8","role":"assistant","content":[],"calls":[{"id":"c-4","name":"refund","arguments":"{\"amount_cents\":12900,\"order\":\"A-1042\"}","wire_id":"call_1"}]}' AS BLOB), NULL, 1982620091);
INSERT INTO messages VALUES(17, 2, 'm-9', CAST('{"id":"m-9","role":"tool","call":"c-4","tool":"refund","status":"ok","content":[{"type":"text","text":"{\"rows\":[{\"id\":\"A-1042\",\"paid_cents\":12900,\"status\":\"refunded\"}]}"}]}' AS BLOB), NULL, 2815861338);
INSERT INTO messages VALUES(18, 2, 'm-10', CAST('{"id":"m-10","role":"tool","call":"c-3","tool":"open_claim","status":"ok","content":[{"type":"text","text":"{\"rows\":[{\"claim\":\"open\",\"id\":\"A-1042\"}]}"}]}' AS BLOB), NULL, 365178582);
INSERT INTO messages VALUES(19, 2, 'm-11', CAST('{"id":"m-11","role":"assistant","content":[{"type":"text","text":"129.0 € are on their way."}]}' AS BLOB), NULL, 2634711801);
INSERT INTO messages VALUES(20, 2, 'm-12', CAST('{"id":"m-12","role":"assistant","content":[{"type":"text","text":"A claim with the carrier is open."}]}' AS BLOB), NULL, 3561420932);
INSERT INTO messages VALUES(21, 2, 'm-13', CAST('{"id":"m-13","role":"assistant","content":[{"type":"text","text":"129.0 € are on their way. A claim with the carrier is open."}]}' AS BLOB), NULL, 2617982667);
INSERT INTO contents VALUES(1, X'75C0C502A36A7E09E2E50ADFC1AA45461943AA457C5C2E6A49D639CAB6559872', CAST('{"blueprint":{"channels":[{"name":"messages","reducer":"messages"},{"name":"topic","reducer":"overwrite"}],"name":"support","nodes":[{"kind":{"agent":{"model":"default","output":"topic","prompt":"Triage. Answer with one word: refund or other.","tools":[]}},"name":"triage","way":{"routes":[{"label":"refund","targets":["refunds","carrier"]},{"label":"other","targets":["reply"]}]}},{"kind":{"agent":{"model":"default","prompt":"Refund clerk. Look the order up; refund it in full if it is paid.","tools":["lookup_order","refund"]}},"name":"refunds","way":{"next":["reply"]}},{"kind":{"agent":{"model":"default","prompt":"Carrier clerk. Look the order up; open a claim if it was shipped.","tools":["lookup_order","open_claim"]}},"name":"carrier","way":{"next":["reply"]}},{"kind":{"agent":{"model":"default","prompt":"Reply. One short answer to the customer.","tools":[]}},"name":"reply","way":{"next":["END"]}}],"recursion_limit":20,"start":["triage"],"version":1},"tools":[{"description":"Find an order by its number.","effect":"repeatable","input_schema":{"additionalProperties":false,"properties":{"order":{"pattern":"^[A-Z]-[0-9]{4}$","type":"string"}},"required":["order"],"type":"object"},"max_output_bytes":65536,"name":"lookup_order","timeout":{"nanos":0,"secs":30}},{"approval":"ask","description":"Open a claim with the carrier.","effect":"once","input_schema":{"additionalProperties":false,"properties":{"order":{"type":"string"}},"required":["order"],"type":"object"},"max_output_bytes":65536,"name":"open_claim","timeout":{"nanos":0,"secs":30}},{"approval":"ask","description":"Pay the full price of a paid order back.","effect":"once","input_schema":{"additionalProperties":false,"properties":{"amount_cents":{"minimum":1,"type":"integer"},"order":{"type":"string"}},"required":["order","amount_cents"],"type":"object"},"max_output_bytes":16384,"name":"refund","timeout":{"nanos":0,"secs":5}}],"version":1}' AS BLOB));
INSERT INTO contents VALUES(2, X'75C0C502A36A7E09E2E50ADFC1AA45461943AA457C5C2E6A49D639CAB6559872', CAST('{"blueprint":{"channels":[{"name":"messages","reducer":"messages"},{"name":"topic","reducer":"overwrite"}],"name":"support","nodes":[{"kind":{"agent":{"model":"default","output":"topic","prompt":"Triage. Answer with one word: refund or other.","tools":[]}},"name":"triage","way":{"routes":[{"label":"refund","targets":["refunds","carrier"]},{"label":"other","targets":["reply"]}]}},{"kind":{"agent":{"model":"default","prompt":"Refund clerk. Look the order up; refund it in full if it is paid.","tools":["lookup_order","refund"]}},"name":"refunds","way":{"next":["reply"]}},{"kind":{"agent":{"model":"default","prompt":"Carrier clerk. Look the order up; open a claim if it was shipped.","tools":["lookup_order","open_claim"]}},"name":"carrier","way":{"next":["reply"]}},{"kind":{"agent":{"model":"default","prompt":"Reply. One short answer to the customer.","tools":[]}},"name":"reply","way":{"next":["END"]}}],"recursion_limit":20,"start":["triage"],"version":1},"tools":[{"description":"Find an order by its number.","effect":"repeatable","input_schema":{"additionalProperties":false,"properties":{"order":{"pattern":"^[A-Z]-[0-9]{4}$","type":"string"}},"required":["order"],"type":"object"},"max_output_bytes":65536,"name":"lookup_order","timeout":{"nanos":0,"secs":30}},{"approval":"ask","description":"Open a claim with the carrier.","effect":"once","input_schema":{"additionalProperties":false,"properties":{"order":{"type":"string"}},"required":["order"],"type":"object"},"max_output_bytes":65536,"name":"open_claim","timeout":{"nanos":0,"secs":30}},{"approval":"ask","description":"Pay the full price of a paid order back.","effect":"once","input_schema":{"additionalProperties":false,"properties":{"amount_cents":{"minimum":1,"type":"integer"},"order":{"type":"string"}},"required":["order","amount_cents"],"type":"object"},"max_output_bytes":16384,"name":"refund","timeout":{"nanos":0,"secs":5}}],"version":1}' AS BLOB));
INSERT INTO removed VALUES(2, 1);

PRAGMA application_id = 1380009802;
PRAGMA user_version = 5;
