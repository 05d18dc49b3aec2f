PRAGMA user_version=1;
CREATE TABLE ranks(rank INTEGER, host TEXT, device TEXT, pid INTEGER, closed INTEGER);
CREATE TABLE steps(rank INTEGER, iteration INTEGER, warmup INTEGER, step INTEGER,
                   start_ns INTEGER, duration_ns INTEGER);
CREATE TABLE edges(rank INTEGER, from_node INTEGER, to_node INTEGER, reason TEXT,
                   inferred INTEGER);
CREATE TABLE collectives(rank INTEGER, node_id INTEGER, name TEXT, process_group TEXT,
                         certainty TEXT, position INTEGER, sequence INTEGER, dtype TEXT,
                         in_bytes INTEGER, out_bytes INTEGER, in_splits TEXT, out_splits TEXT,
                         root INTEGER, peer INTEGER, tag INTEGER, reduce_op TEXT,
                         op_recorded INTEGER, async INTEGER, group_size INTEGER);
CREATE TABLE devices(rank INTEGER, device TEXT, backend TEXT, name TEXT, vendor TEXT,
                     driver TEXT, compute_units INTEGER, memory_bytes INTEGER);
CREATE TABLE metrics(rank INTEGER, metric INTEGER, name TEXT, unit TEXT, device TEXT,
                     source TEXT, is_counter INTEGER, modelled INTEGER);
CREATE TABLE samples(rank INTEGER, metric INTEGER, time_ns INTEGER, value REAL);
CREATE TABLE facts(rank INTEGER, name TEXT, value TEXT, PRIMARY KEY(rank, name));
CREATE TABLE nodes(rank INTEGER, node_id INTEGER, name TEXT, class TEXT, kind TEXT, actor TEXT, mode TEXT,
  kernel TEXT, flops REAL, bytes REAL, step INTEGER, recorded_start_ns INTEGER,
  recorded_duration_ns INTEGER, counts_for_coverage INTEGER, replayed_start_ns INTEGER,
  replayed_duration_ns INTEGER);
INSERT INTO ranks VALUES(0,'vm','host: AMD EPYC',10212,1);
INSERT INTO steps VALUES(0,0,1,0,13027673980727,507334495);
INSERT INTO steps VALUES(0,1,0,0,13028376053536,331637287);
INSERT INTO steps VALUES(0,2,0,0,13028890221249,366764755);
INSERT INTO edges VALUES(0,5,10,'thread',0);
INSERT INTO edges VALUES(0,10,13,'thread',0);
INSERT INTO edges VALUES(0,13,14,'thread',0);
INSERT INTO edges VALUES(0,14,21,'thread',0);
INSERT INTO edges VALUES(0,21,26,'thread',0);
INSERT INTO edges VALUES(0,26,29,'thread',0);
INSERT INTO collectives VALUES(0,601,'all_reduce','0','inferred',0,-1,'float32',3145728,3145728,'[]','[]',-1,-1,0,'sum',0,1,2);
INSERT INTO collectives VALUES(0,1712,'all_reduce','0','inferred',1,-1,'float32',17541120,17541120,'[]','[]',-1,-1,0,'sum',0,1,2);
INSERT INTO devices VALUES(0,'host:0','host','AMD EPYC','','',1,25276514304);
INSERT INTO metrics VALUES(0,1,'context_switches','count','host','procfs',1,0);
INSERT INTO metrics VALUES(0,2,'memory_used','bytes','host','procfs',0,0);
INSERT INTO metrics VALUES(0,13,'cpu_power','watts','cpu','model',0,1);
INSERT INTO samples VALUES(0,1,13027670048724,180482978.0);
INSERT INTO samples VALUES(0,2,13027670048724,5769916416.0);
INSERT INTO samples VALUES(0,13,13027692091882,8.0);
INSERT INTO samples VALUES(0,13,13027710626663,8.0);
INSERT INTO samples VALUES(0,13,13027730190008,8.0);
INSERT INTO samples VALUES(0,13,13027750141879,8.0);
INSERT INTO samples VALUES(0,1,13027770137413,180483165.0);
INSERT INTO samples VALUES(0,2,13027770137413,5801410560.0);
INSERT INTO samples VALUES(0,13,13027770191914,8.0);
INSERT INTO facts VALUES(0,'computes_on','cpu');
INSERT INTO facts VALUES(0,'processor','AMD EPYC');
INSERT INTO facts VALUES(0,'recorded_step_ns','234186574');
INSERT INTO facts VALUES(0,'step_tokens','512');
INSERT INTO facts VALUES(0,'trace.storage_id_reused','106');
INSERT INTO nodes VALUES(0,13,'aten::random_','random','work','thread 1','real','random',40.0,64.0,0,196782,22433,1,107138,8177);
INSERT INTO nodes VALUES(0,14,'aten::arange','fill','work','thread 1','real','fill',258.0,1032.0,0,241499,68832,1,118865,3230);
INSERT INTO nodes VALUES(0,38,'aten::embedding','embedding','work','thread 1','real','embedding',0.0,1576960.0,0,606931,390670,1,156441,64120);
INSERT INTO nodes VALUES(0,111,'aten::addmm','gemm','work','thread 1','real','gemm',454164480.0,4919808.0,0,1608617,5011106,1,400107,8491885);
INSERT INTO nodes VALUES(0,139,'aten::_scaled_dot_product_flash_attention_for_cpu','attention','work','thread 1','real','attention',51715584.0,3158016.0,0,7030423,1984214,1,8893980,9100916);
INSERT INTO nodes VALUES(0,601,'c10d::allreduce_','comm','comm','group 0','real','',0.0,6291456.0,0,83838009,10146235,1,138067103,161910812);
INSERT INTO nodes VALUES(0,1712,'c10d::allreduce_','comm','comm','group 0','real','',0.0,35082240.0,0,181207142,15294982,1,300194090,30933437);
