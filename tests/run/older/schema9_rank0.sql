PRAGMA user_version=9;
CREATE TABLE ranks(rank INTEGER, host TEXT, device TEXT, pid INTEGER, closed INTEGER);
CREATE TABLE steps(rank INTEGER, iteration INTEGER, warmup INTEGER, step INTEGER,
                   start_ns INTEGER, duration_ns INTEGER);
CREATE TABLE edges(rank INTEGER, from_node INTEGER, to_node INTEGER, reason TEXT,
                   inferred INTEGER);
CREATE TABLE collectives(rank INTEGER, node_id INTEGER, name TEXT, process_group TEXT,
                         certainty TEXT, position INTEGER, sequence INTEGER, dtype TEXT,
                         in_bytes INTEGER, out_bytes INTEGER, in_splits TEXT, out_splits TEXT,
                         root INTEGER, peer INTEGER, tag INTEGER, reduce_op TEXT,
                         op_recorded INTEGER, async INTEGER, group_size INTEGER, role TEXT,
                         transfer_ns INTEGER);
CREATE TABLE devices(rank INTEGER, device TEXT, backend TEXT, name TEXT, vendor TEXT,
                     driver TEXT, compute_units INTEGER, memory_bytes INTEGER, uuid TEXT,
                     pci_bus_id TEXT, pcie_lanes INTEGER, numa_node INTEGER, links INTEGER,
                     link_kind TEXT, link_neighbours TEXT);
CREATE TABLE meters(rank INTEGER, device TEXT, source TEXT, name TEXT, uuid TEXT,
                    pci_bus_id TEXT);
CREATE TABLE metrics(rank INTEGER, metric INTEGER, name TEXT, unit TEXT, device TEXT,
                     source TEXT, kind TEXT, modelled INTEGER, states TEXT, help TEXT,
                     period_ns INTEGER);
CREATE TABLE samples(rank INTEGER, metric INTEGER, time_ns INTEGER, value REAL);
CREATE TABLE facts(rank INTEGER, name TEXT, value TEXT, PRIMARY KEY(rank, name));
CREATE TABLE node_info(rank INTEGER, node_id INTEGER, name TEXT, class TEXT, kind TEXT, actor TEXT, mode TEXT,
  kernel TEXT, flops REAL, bytes REAL, step INTEGER, recorded_start_ns INTEGER,
  recorded_duration_ns INTEGER, counts_for_coverage INTEGER, recorded_elapsed_ns INTEGER,
  recorded_delay_ns INTEGER, phase TEXT, recorded_tracing_ns INTEGER, shape TEXT,
  work_from TEXT, capped INTEGER, time_from TEXT);
CREATE TABLE records(rank INTEGER, node_id INTEGER, iteration INTEGER, step INTEGER, mode TEXT, start_ns INTEGER, duration_ns INTEGER);
CREATE VIEW nodes AS
WITH base AS (
  SELECT iteration, min(start_ns) AS start_ns FROM steps WHERE NOT warmup GROUP BY iteration),
ordered AS (
  SELECT r.node_id AS node_id, r.duration_ns AS duration_ns,
         r.start_ns - base.start_ns AS start_ns,
         row_number() OVER (PARTITION BY r.node_id ORDER BY r.duration_ns) AS by_duration,
         row_number() OVER (PARTITION BY r.node_id ORDER BY r.start_ns - base.start_ns) AS by_start,
         count(*) OVER (PARTITION BY r.node_id) AS n
  FROM records r JOIN base USING (iteration)),
medians AS (
  SELECT node_id,
         cast(avg(CASE WHEN by_start IN ((n + 1) / 2, (n + 2) / 2) THEN start_ns END)
              AS INTEGER) AS start_ns,
         cast(avg(CASE WHEN by_duration IN ((n + 1) / 2, (n + 2) / 2) THEN duration_ns END)
              AS INTEGER) AS duration_ns
  FROM ordered GROUP BY node_id)
SELECT i.*, m.start_ns AS replayed_start_ns, m.duration_ns AS replayed_duration_ns
FROM node_info i LEFT JOIN medians m USING (node_id);
INSERT INTO ranks VALUES(0,'vm','',10212,1);
INSERT INTO steps VALUES(0,0,1,0,13027673980727,507334495);
INSERT INTO steps VALUES(0,1,0,0,13028376053536,331637287);
INSERT INTO steps VALUES(0,2,0,0,13028890221249,366764755);
INSERT INTO edges VALUES(0,5,10,'thread',0);
INSERT INTO edges VALUES(0,10,13,'thread',0);
INSERT INTO edges VALUES(0,13,14,'thread',0);
INSERT INTO edges VALUES(0,14,21,'thread',0);
INSERT INTO edges VALUES(0,21,26,'thread',0);
INSERT INTO edges VALUES(0,26,29,'thread',0);
INSERT INTO collectives VALUES(0,601,'all_reduce','0','inferred',0,-1,'float32',3145728,3145728,'[]','[]',-1,-1,0,'sum',0,1,2,'',-1);
INSERT INTO collectives VALUES(0,1712,'all_reduce','0','inferred',1,-1,'float32',17541120,17541120,'[]','[]',-1,-1,0,'sum',0,1,2,'',-1);
INSERT INTO devices VALUES(0,'host:0','host','AMD EPYC','','',1,25276514304,'','',16,1,4,'nvlink','switch x4');
INSERT INTO metrics VALUES(0,1,'context_switches','count','host','procfs','counter',0,'','context switches of all processes',100000000);
INSERT INTO metrics VALUES(0,2,'memory_used','bytes','host','procfs','gauge',0,'','MemTotal - MemAvailable',100000000);
INSERT INTO metrics VALUES(0,13,'cpu_power','watts','cpu','model','gauge',1,'','MODELLED: 2 CPUs x (1 W idle + 3 W x utilisation)',20000000);
INSERT INTO samples VALUES(0,1,13027670048724,180482978.0);
INSERT INTO samples VALUES(0,2,13027670048724,5769916416.0);
INSERT INTO samples VALUES(0,13,13027692091882,8.0);
INSERT INTO samples VALUES(0,13,13027710626663,8.0);
INSERT INTO samples VALUES(0,13,13027730190008,8.0);
INSERT INTO samples VALUES(0,13,13027750141879,8.0);
INSERT INTO samples VALUES(0,1,13027770137413,180483165.0);
INSERT INTO samples VALUES(0,2,13027770137413,5801410560.0);
INSERT INTO samples VALUES(0,13,13027770191914,8.0);
INSERT INTO facts VALUES(0,'recorded_step_ns','234186574');
INSERT INTO facts VALUES(0,'processor','AMD EPYC');
INSERT INTO facts VALUES(0,'computes_on','cpu');
INSERT INTO facts VALUES(0,'step_tokens','512');
INSERT INTO facts VALUES(0,'trace.storage_id_reused','106');
INSERT INTO node_info VALUES(0,13,'aten::random_','random','work','thread 1','real','random',40.0,64.0,0,196782,22433,1,22433,12498,'forward',8404,'[4,1]','arguments',0,'scaled');
INSERT INTO node_info VALUES(0,14,'aten::arange','fill','work','thread 1','real','fill',258.0,1032.0,0,241499,68832,1,68832,22284,'forward',40753,'','arguments',0,'scaled');
INSERT INTO node_info VALUES(0,38,'aten::embedding','embedding','work','thread 1','real','embedding',0.0,1576960.0,0,606931,390670,1,390670,131445,'forward',148586,'[2048,384] [4,128]','arguments',0,'scaled');
INSERT INTO node_info VALUES(0,111,'aten::addmm','gemm','work','thread 1','real','gemm',454164480.0,4919808.0,0,1608617,5011106,1,5011106,5358,'forward',62320,'[1152] [512,384] [384,1152]','arguments',0,'scaled');
INSERT INTO node_info VALUES(0,139,'aten::_scaled_dot_product_flash_attention_for_cpu','attention','work','thread 1','real','attention',51715584.0,3158016.0,0,7030423,1984214,1,1984214,51497,'forward',191719,'[4,6,128,64] [4,6,128,64] [4,6,128,64]','arguments',0,'scaled');
INSERT INTO node_info VALUES(0,601,'c10d::allreduce_','comm','comm','group 0','real','',0.0,6291456.0,0,83838009,10146235,1,10146456,0,'communication',0,'','message',0,'scaled');
INSERT INTO node_info VALUES(0,1712,'c10d::allreduce_','comm','comm','group 0','real','',0.0,35082240.0,0,181207142,15294982,1,25988580,48347,'communication',0,'','message',0,'scaled');
INSERT INTO records VALUES(0,601,0,0,'real',13027893806231,221176624);
INSERT INTO records VALUES(0,1712,0,0,'real',13028115513861,43840320);
INSERT INTO records VALUES(0,13,0,0,'real',13027675011824,29604);
INSERT INTO records VALUES(0,14,0,0,'real',13027675041618,3836);
INSERT INTO records VALUES(0,38,0,0,'real',13027675107315,400073);
INSERT INTO records VALUES(0,111,0,0,'real',13027677610032,22470154);
INSERT INTO records VALUES(0,139,0,0,'real',13027700082139,1847636);
INSERT INTO records VALUES(0,601,1,0,'real',13028509249185,162044160);
INSERT INTO records VALUES(0,1712,1,0,'real',13028671495033,11873553);
INSERT INTO records VALUES(0,13,1,0,'real',13028376131531,6119);
INSERT INTO records VALUES(0,14,1,0,'real',13028376144260,2534);
INSERT INTO records VALUES(0,38,1,0,'real',13028376191099,63484);
INSERT INTO records VALUES(0,111,1,0,'real',13028376446347,8474670);
INSERT INTO records VALUES(0,139,1,0,'real',13028384922269,995253);
INSERT INTO records VALUES(0,601,2,0,'real',13029033159806,161777465);
INSERT INTO records VALUES(0,1712,2,0,'real',13029195167932,49993322);
INSERT INTO records VALUES(0,13,2,0,'real',13028890357531,10235);
INSERT INTO records VALUES(0,14,2,0,'real',13028890368256,3926);
INSERT INTO records VALUES(0,38,2,0,'real',13028890396568,64756);
INSERT INTO records VALUES(0,111,2,0,'real',13028890628652,8509101);
INSERT INTO records VALUES(0,139,2,0,'real',13028899140477,17206580);
CREATE TABLE node_joules(rank INTEGER, node_id INTEGER, above_idle_joules REAL);
INSERT INTO node_joules VALUES(0,14,0.25);
