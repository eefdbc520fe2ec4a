PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE session (
    id TEXT NOT NULL,        -- the conversation
    process TEXT NOT NULL,   -- boot, namespace, number and start of the process that asks
    who TEXT NOT NULL,
    cwd TEXT NOT NULL,
    project TEXT,            -- where a lasting yes is kept; NULL: nowhere
    started INTEGER NOT NULL,
    PRIMARY KEY (id, process)
) STRICT, WITHOUT ROWID;
INSERT INTO session VALUES('01a20b37-e9f1-73e2-9e71-ade16e87cce1','40d997f9-06bf-4b70-9787-93024a73a512/pid:[4026531836]/15620/4011501','person','/home/ann/project','/home/ann/project',1795484543509);
INSERT INTO session VALUES('01a20b37-f596-7349-b019-e06dc27c67e7','40d997f9-06bf-4b70-9787-93024a73a512/pid:[4026531836]/15900/4011799','person','/home/ann/project','/home/ann/project',1795484546473);
INSERT INTO session VALUES('01a20b37-fe79-7063-bbd0-658f39dec303','40d997f9-06bf-4b70-9787-93024a73a512/pid:[4026531836]/16077/4012025','person','/home/ann/project','/home/ann/project',1795484548745);
INSERT INTO session VALUES('01a20b38-0b09-765b-8dd6-90427f613eb1','40d997f9-06bf-4b70-9787-93024a73a512/pid:[4026531836]/16161/4012349','person','/home/ann/project','/home/ann/project',1795484551973);
INSERT INTO session VALUES('01a20b38-1a4d-7708-a1f9-e6aba366f003','40d997f9-06bf-4b70-9787-93024a73a512/pid:[4026531836]/16288/4012740','person','/home/ann/project','/home/ann/project',1795484555889);
INSERT INTO session VALUES('01a20b38-1e4d-73a8-8e3b-83213ef6ab9a','40d997f9-06bf-4b70-9787-93024a73a512/pid:[4026531836]/16300/4012842','person','/home/ann/project','/home/ann/project',1795484556893);
INSERT INTO session VALUES('01a20b38-2246-7bfc-b416-48cfd2eed1b2','40d997f9-06bf-4b70-9787-93024a73a512/pid:[4026531836]/16314/4012945','person','/home/ann/project','/home/ann/project',1795484557955);
CREATE TABLE request (
    id TEXT NOT NULL PRIMARY KEY,
    session TEXT NOT NULL,
    process TEXT NOT NULL,
    request TEXT NOT NULL,   -- as JSON; empty once it has ended
    operation TEXT NOT NULL, -- the digest of what would run
    explicit INTEGER NOT NULL,
    shown TEXT NOT NULL,     -- the digest of what is shown
    asked_at INTEGER NOT NULL,
    expires_at INTEGER,
    answer TEXT,             -- how it ended, as JSON; NULL: it waits
    answered_by TEXT,
    answered_at INTEGER,
    FOREIGN KEY (session, process) REFERENCES session (id, process)
) STRICT;
INSERT INTO request VALUES('01a20b37-ea14-7ace-b22a-f56f146f625f','01a20b37-e9f1-73e2-9e71-ade16e87cce1','40d997f9-06bf-4b70-9787-93024a73a512/pid:[4026531836]/15620/4011501','','02990a9660989d9c814224f1aa419ddd3771c08ccefa82981efdfef4498386c4',0,'e88c0c999e1568dfbb96f78cfa35d5019cbc6f7ec60259bb3eecd72b2f3165ab',1795484543509,1795484603508,'{"ending":"resolved","kind":"answered","response":{"response":"approved","scope":"project","terms":{"rules":["Bash(make one)"],"seconds":1800,"times":5,"below":"/home/ann/project"}}}','`openoxide approve`, process 15880, no terminal',1795484546191);
INSERT INTO request VALUES('01a20b37-f5a8-7c0a-b883-9f282a05b88b','01a20b37-f596-7349-b019-e06dc27c67e7','40d997f9-06bf-4b70-9787-93024a73a512/pid:[4026531836]/15900/4011799','','82fb062173a1c23c165b486f942d2b4278b3c9960b7a4e285e0e43cd30ccb60e',0,'d22ec297a31476481d99be621de971853e3563c015f807d7ac792269d08f21bf',1795484546473,1795484606472,'{"ending":"resolved","kind":"answered","response":{"response":"approved","scope":"project"}}','`openoxide approve`, process 16058, no terminal',1795484548514);
INSERT INTO request VALUES('01a20b37-fe89-73ad-b1ef-880ae0afb9e3','01a20b37-fe79-7063-bbd0-658f39dec303','40d997f9-06bf-4b70-9787-93024a73a512/pid:[4026531836]/16077/4012025','','b2c9d193899d70b3e6e497bc13cbad3e8bbc2f9e8ac6b7f63bc1d0a07e1dec8c',0,'70d9bf44a3cd416c7c094de7a4deb7309bac4f3b3e3dd938cb888bdd94596ae7',1795484548745,1795484608745,'{"ending":"resolved","kind":"answered","response":{"response":"approved","scope":"session"}}','`openoxide approve`, process 16129, no terminal',1795484550883);
INSERT INTO request VALUES('01a20b38-0abc-78b6-9dd1-5fcf8b57778f','01a20b37-fe79-7063-bbd0-658f39dec303','40d997f9-06bf-4b70-9787-93024a73a512/pid:[4026531836]/16077/4012025','','47f382d1759bf385c30dd11ec2221356d9a14d34e6535a846e449487deaa34bd',0,'76d79f3627ddd46cd423494d40bfb8c31ee331dd3de7dbec54bac0b2120943bf',1795484551869,1795484611868,'{"ending":"withdrawn"}','who asked',1795484551924);
INSERT INTO request VALUES('01a20b38-0b24-7d18-97fc-2ae87ac2b2b1','01a20b38-0b09-765b-8dd6-90427f613eb1','40d997f9-06bf-4b70-9787-93024a73a512/pid:[4026531836]/16161/4012349','','82a415f83fcff5ec61e535c5a9f59b155e61be7bb79c104fdb606c548c7fca92',0,'a8e9a84e02422a53253f2ce60f82ae0411db7359b4d0529d0ddea22d54212430',1795484551973,1795484611972,'{"ending":"resolved","kind":"answered","response":{"response":"rejected","message":"use the make file"}}','`openoxide deny`, process 16233, no terminal',1795484554263);
INSERT INTO request VALUES('01a20b38-1a71-7fa1-84b9-1eea6efb309a','01a20b38-1a4d-7708-a1f9-e6aba366f003','40d997f9-06bf-4b70-9787-93024a73a512/pid:[4026531836]/16288/4012740','{"schema":1,"id":"01a20b38-1a71-7fa1-84b9-1eea6efb309a","session":"01a20b38-1a4d-7708-a1f9-e6aba366f003","tool":"Bash","title":"Run a command","cwd":"/home/ann/project","presentation":{"type":"command","content":"cargo publish --dry-run","language":"bash"},"decision":{"decision":"ask","reason":"no rule speaks of `cargo publish --dry-run`","rule":null,"parts":[{"access":"exec","argv":["cargo","publish","--dry-run"],"text":"cargo publish --dry-run","decision":"ask","rule":null,"reason":"no rule speaks of `cargo publish --dry-run`"}],"findings":[],"always":["Bash(cargo publish *)"],"obligations":[{"obligation":"audit"}]},"digest":"73a791144c9902b122994d459bc1715807c50a9f71c77f7b0afd2b6b7d42f108","explicit_yes_required":false,"alternatives":[{"width":"narrower","rules":["Bash(cargo publish --dry-run)"]}],"task":"job-15492-4011401-40d997f9"}','73a791144c9902b122994d459bc1715807c50a9f71c77f7b0afd2b6b7d42f108',0,'b7fe2d88556c326032f86aebb2b94174e91e23f721e7505cbf36485301a944e8',1795484555889,1795484655889,NULL,NULL,NULL);
INSERT INTO request VALUES('01a20b38-1e5c-7068-b1dd-0672c3126ae1','01a20b38-1e4d-73a8-8e3b-83213ef6ab9a','40d997f9-06bf-4b70-9787-93024a73a512/pid:[4026531836]/16300/4012842','{"schema":1,"id":"01a20b38-1e5c-7068-b1dd-0672c3126ae1","session":"01a20b38-1e4d-73a8-8e3b-83213ef6ab9a","tool":"Bash","title":"Run a command","cwd":"/home/ann/project","presentation":{"type":"command","content":"rm -rf /nowhere/../etc","language":"bash"},"decision":{"decision":"ask","reason":"no rule speaks of `rm -rf /nowhere/../etc`","rule":null,"parts":[{"access":"exec","argv":["rm","-rf","/nowhere/../etc"],"text":"rm -rf /nowhere/../etc","decision":"ask","rule":null,"reason":"no rule speaks of `rm -rf /nowhere/../etc`"},{"access":"edit","path":"/etc","decision":"ask","rule":null,"reason":"`/etc` lies outside the project"}],"findings":[{"code":"OX201","kind":"circuit_breaker","message":"it would remove a system directory, a home or a project","span":[0,22]}],"always":[],"obligations":[{"obligation":"audit"}]},"digest":"1bdbd97da004548e1ecc0b710f1655144df6c447c502e5242025055725535dec","explicit_yes_required":true,"task":"job-15492-4011401-40d997f9"}','1bdbd97da004548e1ecc0b710f1655144df6c447c502e5242025055725535dec',1,'0d7386d8fd2a34a8291896f1f80b3a2cc1ac586c4717eba36777f109db68dab9',1795484556893,1795484656893,NULL,NULL,NULL);
INSERT INTO request VALUES('01a20b38-2283-701d-aca9-efcf3f0ba4d7','01a20b38-2246-7bfc-b416-48cfd2eed1b2','40d997f9-06bf-4b70-9787-93024a73a512/pid:[4026531836]/16314/4012945','{"schema":1,"id":"01a20b38-2283-701d-aca9-efcf3f0ba4d7","session":"01a20b38-2246-7bfc-b416-48cfd2eed1b2","tool":"Bash","title":"Run a command","cwd":"/home/ann/project","presentation":{"type":"command","content":"make held","language":"bash"},"decision":{"decision":"ask","reason":"no rule speaks of `make held`","rule":null,"parts":[{"access":"exec","argv":["make","held"],"text":"make held","decision":"ask","rule":null,"reason":"no rule speaks of `make held`"}],"findings":[],"always":["Bash(make held *)"],"obligations":[{"obligation":"audit"}]},"digest":"90f080d210b63d2c6f2c831dc4c165f0ab18588d9d760a5b2b2db4cb6f95db16","explicit_yes_required":false,"alternatives":[{"width":"narrower","rules":["Bash(make held)"]}],"task":"job-15492-4011401-40d997f9"}','90f080d210b63d2c6f2c831dc4c165f0ab18588d9d760a5b2b2db4cb6f95db16',0,'d73ce0a6c22d92e2ddc79ec73f9f5c61538b747c4172a376a157800e9ae5fd9f',1795484557955,1795484657955,NULL,NULL,NULL);
CREATE INDEX waiting_expiry ON request (expires_at) WHERE answer IS NULL AND expires_at IS NOT NULL;
CREATE INDEX ended ON request (answered_at) WHERE answer IS NOT NULL;
CREATE INDEX asked_in ON request (session, process);
CREATE INDEX waiting ON request (session, process) WHERE answer IS NULL;
PRAGMA user_version=2;
COMMIT;
