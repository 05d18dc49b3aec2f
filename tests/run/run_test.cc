// A run on disk: what is written is read back, merged or not, killed or not, and damage is named.
#include "report/run/run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "core/clock.h"
#include "tests/run/run_directory.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using RunTest = RunDirectory;

NodeInfo Gemm(std::uint64_t id) {
  return {.node_id = id,
          .name = "aten::mm",
          .op_class = OpClass::kGemm,
          .kind = OpKind::kWork,
          .phase = Phase::kBackward,
          .actor = "thread 1",
          .mode = ReplayMode::kReal,
          .kernel = "gemm_f32",
          .shape = "[2,3] [3,4]",
          .flops = 2e6,
          .bytes = 12e3,
          .step = 1,
          .recorded_start_ns = 1'000 + static_cast<std::int64_t>(id),
          .recorded_duration_ns = 500,
          .counts_for_coverage = true};
}

CollectiveInfo AllToAll(std::uint64_t id) {
  CollectiveInfo info;
  info.node_id = id;
  info.spec.kind = CommKind::kAllToAll;
  info.spec.group = "tp's";
  info.spec.certainty = GroupCertainty::kInferred;
  info.spec.index = 3;
  info.spec.sequence = 17;
  info.spec.dtype = DType::kBFloat16;
  info.spec.in_bytes = 64;
  info.spec.out_bytes = 32;
  info.spec.in_splits = {1, 0, 31};
  info.spec.peer = 2;
  info.spec.op = ReduceOp::kMax;
  info.spec.op_recorded = true;
  info.spec.async = true;
  info.group_size = 3;
  return info;
}

// Iteration 0 is warm-up; node 7 then takes 100, 300, 200 ns, 10, 20, 60 ns into its iteration.
void AppendRun(RankWriter& writer) {
  const auto id = std::numeric_limits<std::uint64_t>::max();
  writer.Append<NodeInfo>({Gemm(7), Gemm(8), Gemm(id)});
  writer.Append<EdgeInfo>({{.from = 7, .to = id, .reason = "data", .inferred = true}});
  writer.Append<CollectiveInfo>({AllToAll(8)});
  writer.Append<Metric>({{.id = 0,
                          .name = "package_energy",
                          .unit = "joules",
                          .device = "package-0",
                          .source = "rapl",
                          .kind = MetricKind::kEnergy}});
  writer.Append<Sample>({{.metric = 0, .time_ns = 5, .value = 1.5},
                         {.metric = 0, .time_ns = 6, .value = std::nan("")}});
  writer.Append<RunDevice>({{.device = "opencl:0",
                             .backend = "opencl",
                             .name = "cpu",
                             .vendor = "v",
                             .driver = "1",
                             .compute_units = 2,
                             .memory_bytes = 1 << 30}});
  writer.SetFacts({.recorded_step_ns = 12});
  writer.SetFacts({.recorded_step_ns = 13});
  const std::int64_t durations[] = {9'999, 100, 300, 200};
  const std::int64_t starts[] = {0, 10, 20, 60};
  for (int i = 0; i < 4; ++i) {
    const std::int64_t base = 1'000'000LL * (i + 1);
    writer.Append<NodeRecord>({{.node_id = 7,
                                .iteration = i,
                                .step = 1,
                                .mode = ReplayMode::kSurrogate,
                                .start_ns = base + starts[i],
                                .duration_ns = durations[i]}});
    writer.Append<StepRecord>(
        {{.iteration = i, .warmup = i == 0, .step = 1, .start_ns = base, .duration_ns = 400'000}});
  }
}

RunManifest Manifest(int world_size) {
  RunManifest manifest;
  manifest.command = "reprise replay \"x\" ü";
  manifest.trace_hash = "abc";
  manifest.world_size = world_size;
  manifest.iterations = 4;
  manifest.warmup = 1;
  manifest.options = {{"--mode", "full"}};
  for (int rank = 0; rank < world_size; ++rank) {
    manifest.hosts.push_back("h" + std::to_string(rank));
    manifest.devices.push_back("opencl: cpu's");
  }
  manifest.oversubscribed = true;
  manifest.recorded_step_ns = 123;
  return manifest;
}

void WriteRun(const std::string& directory, int world_size) {
  ASSERT_TRUE(WriteManifest(directory, Manifest(world_size)));
  for (int rank = 0; rank < world_size; ++rank) {
    auto writer = RankWriter::Create(directory, rank);
    ASSERT_TRUE(writer) << writer.error().message;
    AppendRun(**writer);
    const Status closed = (*writer)->Close();
    ASSERT_TRUE(closed) << closed.error().message;
  }
}

void ExpectWholeRank(const RankData& rank) {
  ASSERT_EQ(rank.nodes.size(), 3U);
  EXPECT_EQ(rank.nodes[2].node_id, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(rank.nodes[0].name, "aten::mm");
  EXPECT_EQ(rank.nodes[0].op_class, OpClass::kGemm);
  EXPECT_EQ(rank.nodes[0].phase, Phase::kBackward);
  EXPECT_EQ(rank.nodes[0].kernel, "gemm_f32");
  EXPECT_EQ(rank.nodes[0].recorded_start_ns, 1'007);
  EXPECT_TRUE(rank.nodes[0].counts_for_coverage);
  ASSERT_EQ(rank.edges.size(), 1U);
  EXPECT_EQ(rank.edges[0].reason, "data");
  EXPECT_TRUE(rank.edges[0].inferred);
  ASSERT_EQ(rank.collectives.size(), 1U);
  EXPECT_EQ(rank.collectives[0].spec, AllToAll(8).spec);
  EXPECT_EQ(rank.collectives[0].group_size, 3);
  ASSERT_EQ(rank.samples.size(), 2U);
  EXPECT_EQ(rank.samples[0].value, 1.5);
  EXPECT_TRUE(std::isnan(rank.samples[1].value));
  ASSERT_EQ(rank.metrics.size(), 1U);
  EXPECT_EQ(rank.metrics[0].kind, MetricKind::kEnergy);
  ASSERT_EQ(rank.devices.size(), 1U);
  EXPECT_EQ(rank.devices[0].memory_bytes, 1 << 30);
  EXPECT_EQ(rank.facts.recorded_step_ns, 13);
  EXPECT_EQ(rank.steps.size(), 4U);
  EXPECT_FALSE(rank.host.empty());
}

// The first column of each row of a query, by the C API as any other program would.
std::vector<std::string> Query(const std::string& path, const std::string& sql,
                               int access = SQLITE_OPEN_READONLY) {
  sqlite3* handle = nullptr;
  EXPECT_EQ(sqlite3_open_v2(path.c_str(), &handle, access, nullptr), SQLITE_OK);
  std::vector<std::string> rows;
  const auto collect = [](void* out, int, char** values, char**) {
    static_cast<std::vector<std::string>*>(out)->emplace_back(values[0] ? values[0] : "NULL");
    return 0;
  };
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), collect, &rows, &message), SQLITE_OK)
      << (message ? message : "");
  sqlite3_free(message);
  sqlite3_close(handle);
  return rows;
}

TEST_F(RunTest, UnmergedRunIsReadWithItsRecordsAndSaysSo) {
  WriteRun(Directory(), 2);
  const auto run = ReadRun(Directory());
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_EQ(run->ranks.size(), 2U);
  for (const RankData& rank : run->ranks) {
    ExpectWholeRank(rank);
    ASSERT_EQ(rank.records.size(), 4U);
    EXPECT_EQ(rank.records[2].duration_ns, 300);
    EXPECT_EQ(rank.records[2].mode, ReplayMode::kSurrogate);
    EXPECT_TRUE(rank.closed);
  }
  EXPECT_THAT(run->notes, ElementsAre(HasSubstr("not merged")));
  EXPECT_EQ(run->manifest.command, Manifest(2).command);
  EXPECT_EQ(run->manifest.options, Manifest(2).options);
  EXPECT_EQ(run->manifest.untraced_step_ns, -1);
  EXPECT_TRUE(run->manifest.oversubscribed);
}

TEST_F(RunTest, MergedRunIsCompleteAndHasNoNotes) {
  WriteRun(Directory(), 2);
  const Status merged = MergeRun(Directory());
  ASSERT_TRUE(merged) << merged.error().message;
  const auto run = ReadRun(Directory());
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(run->notes, IsEmpty());
  EXPECT_TRUE(run->manifest.complete);
  EXPECT_EQ(run->ranks.size(), 2U);
  EXPECT_FALSE(fs::exists(File("run.sqlite.tmp")));
  EXPECT_FALSE(fs::exists(File("rank0.sqlite-wal")));
}

// The documented tables, by the names that other programs rely on, in both kinds of file.
TEST_F(RunTest, DocumentedTablesAnswerQueriesInBothFiles) {
  WriteRun(Directory(), 2);
  ASSERT_TRUE(MergeRun(Directory()));
  for (const char* name : {"rank1.sqlite", "run.sqlite"}) {
    const std::string file = File(name);
    for (const char* table : {"ranks", "steps", "nodes", "edges", "collectives", "devices",
                              "metrics", "samples", "facts"}) {
      EXPECT_NE(Query(file, std::string("SELECT count(*) FROM ") + table + " WHERE rank=1"),
                std::vector<std::string>{"0"})
          << file << " " << table;
    }
    EXPECT_THAT(Query(file,
                      "SELECT class||' '||flops||' '||bytes||' '||recorded_start_ns||' '||"
                      "recorded_duration_ns||' '||replayed_start_ns||' '||replayed_duration_ns"
                      " FROM nodes WHERE rank=1 AND node_id=7"),
                ElementsAre("gemm 2000000.0 12000.0 1007 500 20 200"));
    EXPECT_THAT(Query(file, "SELECT replayed_duration_ns FROM nodes WHERE rank=1 AND node_id=8"),
                ElementsAre("NULL"));
  }
  EXPECT_THAT(Query(File("run.sqlite"), "SELECT rank FROM nodes WHERE node_id=7 ORDER BY rank"),
              ElementsAre("0", "1"));
  EXPECT_THAT(Query(File("run.sqlite"), "SELECT DISTINCT device FROM ranks"),
              ElementsAre("opencl: cpu's"));
}

// Even numbers of iterations: the mean of the middle two.
TEST_F(RunTest, MedianOfTwoIterationsIsTheirMean) {
  auto writer = RankWriter::Create(Directory(), 0);
  ASSERT_TRUE(writer);
  (*writer)->Append<NodeInfo>({Gemm(1)});
  for (int i = 0; i < 2; ++i) {
    (*writer)->Append<NodeRecord>({{.node_id = 1,
                                    .iteration = i,
                                    .start_ns = 1'000 * i + 2 + 4 * i,
                                    .duration_ns = 10 + 10 * i}});
    (*writer)->Append<StepRecord>({{.iteration = i, .start_ns = 1'000 * i, .duration_ns = 500}});
  }
  ASSERT_TRUE((*writer)->Close());
  EXPECT_THAT(
      Query(File("rank0.sqlite"), "SELECT replayed_start_ns||' '||replayed_duration_ns FROM nodes"),
      ElementsAre("4 15"));
}

TEST_F(RunTest, MissingRankFileFallsBackToMergedMedians) {
  WriteRun(Directory(), 2);
  ASSERT_TRUE(MergeRun(Directory()));
  fs::remove(File("rank1.sqlite"));
  const auto run = ReadRun(Directory());
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_EQ(run->ranks.size(), 2U);
  ExpectWholeRank(run->ranks[1]);
  ASSERT_EQ(run->ranks[1].records.size(), 1U);
  EXPECT_EQ(run->ranks[1].records[0].iteration, 1);
  EXPECT_EQ(run->ranks[1].records[0].duration_ns, 200);
  EXPECT_EQ(run->ranks[1].records[0].start_ns, 2'000'020);
  EXPECT_THAT(run->notes, ElementsAre(HasSubstr("rank1.sqlite is missing")));
}

TEST_F(RunTest, ALargeRunIsMergedWithoutNodesAndReadFromItsRanks) {
  WriteRun(Directory(), 2);
  ASSERT_TRUE(MergeRun(Directory(), 1));
  EXPECT_THAT(Query(File("run.sqlite"),
                    "SELECT (SELECT count(*) FROM nodes)||' '||(SELECT count(*) FROM ranks)"),
              ElementsAre("0 2"));
  auto run = ReadRun(Directory());
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_TRUE(run->manifest.complete);
  ExpectWholeRank(run->ranks[1]);
  fs::remove(File("rank1.sqlite"));
  run = ReadRun(Directory());
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_FALSE(run->ranks.at(1).steps.empty());
  EXPECT_THAT(run->notes, ElementsAre(HasSubstr("run.sqlite has its steps")));
}

TEST_F(RunTest, MissingRankFileOfAnUnmergedRunIsNotedAndCannotBeMerged) {
  WriteRun(Directory(), 2);
  fs::remove(File("rank0.sqlite"));
  const auto run = ReadRun(Directory());
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_EQ(run->ranks.size(), 1U);
  EXPECT_EQ(run->ranks[0].rank, 1);
  EXPECT_THAT(run->notes, Contains(HasSubstr("rank 0: rank0.sqlite is missing")));
  const Status merged = MergeRun(Directory());
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(merged.error().message, HasSubstr("rank0.sqlite"));
  EXPECT_FALSE(fs::exists(File("run.sqlite")));
}

TEST_F(RunTest, OtherDirectoriesAreRefused) {
  for (const std::string& path : {File("absent"), Directory()}) {
    const auto run = ReadRun(path);
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().kind, ErrorKind::kBadInput);
    EXPECT_THAT(run.error().message, HasSubstr(path));
  }
  ASSERT_TRUE(WriteManifest(Directory(), Manifest(2)));
  const auto run = ReadRun(Directory());
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message, HasSubstr("no rank's file"));
}

// Ranks are read several at a time, and what is said of them is in their order all the same.
TEST_F(RunTest, NotesAndErrorsComeByRank) {
  constexpr int kRanks = 24;
  WriteRun(Directory(), kRanks);
  for (int rank = 0; rank < kRanks; rank += 2) {
    fs::remove(File("rank" + std::to_string(rank) + ".sqlite"));
  }
  const auto run = ReadRun(Directory());
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_EQ(run->ranks.size(), kRanks / 2U);
  std::vector<std::string> expected = {
      "not merged: the run was killed, failed, or is still going on"};
  for (int i = 0; i < kRanks / 2; ++i) {
    EXPECT_EQ(run->ranks[i].rank, 2 * i + 1);
    expected.push_back(fmt::format("rank {0}: rank{0}.sqlite is missing", 2 * i));
  }
  EXPECT_EQ(run->notes, expected);
  // Of several damaged files the first is named.
  for (const int rank : {5, 9, 21}) {
    std::ofstream(File("rank" + std::to_string(rank) + ".sqlite")) << "not a database";
  }
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto damaged = ReadRun(Directory());
    ASSERT_FALSE(damaged);
    EXPECT_THAT(damaged.error().message, HasSubstr("rank5.sqlite"));
  }
}

// Killed before it could write one: what the ranks wrote is worth reading all the same.
TEST_F(RunTest, MissingManifestIsNoted) {
  WriteRun(Directory(), 2);
  fs::remove(File("manifest.json"));
  const auto run = ReadRun(Directory());
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->manifest.world_size, 2);
  EXPECT_EQ(run->ranks.size(), 2U);
  EXPECT_THAT(run->notes, Contains(HasSubstr("manifest.json is missing")));
}

TEST_F(RunTest, DamagedManifestIsNamed) {
  WriteRun(Directory(), 1);
  for (const char* text : {"", "{\"format\":", "[1]", R"({"world_size":"two"})",
                           R"({"format":"reprise-run-2"})", R"({"world_size":0})"}) {
    std::ofstream(File("manifest.json")) << text;
    const auto run = ReadRun(Directory());
    ASSERT_FALSE(run) << text;
    EXPECT_EQ(run.error().kind, ErrorKind::kBadInput);
    EXPECT_THAT(run.error().message, HasSubstr("manifest.json"));
  }
}

TEST_F(RunTest, DamagedRankFileIsNamed) {
  ASSERT_TRUE(WriteManifest(Directory(), Manifest(2)));
  for (int rank = 0; rank < 2; ++rank) {
    auto writer = RankWriter::Create(Directory(), rank);
    ASSERT_TRUE(writer);
    std::vector<NodeInfo> nodes(5'000, Gemm(1));
    (*writer)->Append(std::move(nodes));
    ASSERT_TRUE((*writer)->Close());
  }
  const std::string path = File("rank1.sqlite");
  const auto expect_bad = [&](const char* what) {
    for (const Status& status :
         {ReadRun(Directory()).map([](const RunData&) {}), MergeRun(Directory())}) {
      ASSERT_FALSE(status) << what;
      EXPECT_EQ(status.error().kind, ErrorKind::kBadInput) << what << status.error().message;
      EXPECT_THAT(status.error().message, HasSubstr("rank1.sqlite")) << what;
    }
  };
  const auto size = fs::file_size(path);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(size / 2));
    file << std::string(200'000, '\x5a');
  }
  expect_bad("overwritten");
  fs::resize_file(path, size / 2);
  expect_bad("truncated");
  fs::resize_file(path, 0);
  expect_bad("empty");
  std::ofstream(path) << "this is not SQLite, only text that is long enough to be looked at";
  expect_bad("text");
}

TEST_F(RunTest, KilledWriterLeavesWhatItStored) {
  ASSERT_TRUE(WriteManifest(Directory(), Manifest(1)));
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto writer = RankWriter::Create(Directory(), 0);
    if (writer) {
      AppendRun(**writer);
      (void)!write(pipe_ends[1], "x", 1);
    }
    for (;;) {
      pause();
    }
  }
  char ready = 0;
  ASSERT_EQ(read(pipe_ends[0], &ready, 1), 1);
  // What the writer has it stores within a second; on a busy machine later. A run that goes on can
  // be read, too.
  const std::int64_t deadline_ns = MonotonicNs() + 60'000'000'000;
  for (bool stored = false; !stored && MonotonicNs() < deadline_ns;) {
    usleep(50'000);
    const auto alive = ReadRun(Directory());
    EXPECT_TRUE(alive) << alive.error().message;
    stored = !alive || (alive->ranks.size() == 1 && alive->ranks[0].records.size() == 4);
  }
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  close(pipe_ends[0]);
  close(pipe_ends[1]);

  const auto run = ReadRun(Directory());
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_EQ(run->ranks.size(), 1U);
  ExpectWholeRank(run->ranks[0]);
  EXPECT_EQ(run->ranks[0].records.size(), 4U);
  EXPECT_FALSE(run->ranks[0].closed);
  EXPECT_THAT(run->notes, ElementsAre(HasSubstr("not merged"), HasSubstr("not closed")));
}

TEST_F(RunTest, WriterNeedsADirectoryAndReplacesAnOldFile) {
  const auto missing = RankWriter::Create(File("absent"), 0);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kEnvironment);
  WriteRun(Directory(), 1);
  WriteRun(Directory(), 1);
  const auto run = ReadRun(Directory());
  ASSERT_TRUE(run);
  EXPECT_EQ(run->ranks[0].nodes.size(), 3U);
}

TEST_F(RunTest, ThreadsAppendTogetherAndNothingIsLost) {
  auto writer = RankWriter::Create(Directory(), 0);
  ASSERT_TRUE(writer);
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&writer, t] {
        for (int i = 0; i < 500; ++i) {
          (*writer)->Append<NodeRecord>(
              {{.node_id = static_cast<std::uint64_t>(t), .iteration = i},
               {.node_id = static_cast<std::uint64_t>(t), .iteration = i}});
        }
      });
    }
  }
  ASSERT_TRUE((*writer)->Close());
  EXPECT_TRUE((*writer)->Close());
  EXPECT_THAT(Query(File("rank0.sqlite"),
                    "SELECT count(*)||' '||count(DISTINCT node_id||'/'||iteration) FROM records"),
              ElementsAre("4000 2000"));
}

// A disk that cannot take more is an error at Close, not a crash and not silence.
TEST_F(RunTest, WriteErrorIsReportedAtClose) {
  auto writer = RankWriter::Create(Directory(), 0);
  ASSERT_TRUE(writer);
  // Another program drops a table: the background thread's INSERT fails.
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(File("rank0.sqlite").c_str(), &handle), SQLITE_OK);
  sqlite3_busy_timeout(handle, 5'000);
  ASSERT_EQ(sqlite3_exec(handle, "DROP TABLE edges_rows", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(handle);
  (*writer)->Append<EdgeInfo>({{.from = 1, .to = 2, .reason = "data"}});
  const Status closed = (*writer)->Close();
  ASSERT_FALSE(closed);
  EXPECT_THAT(closed.error().message, HasSubstr("rank0.sqlite"));
}

// Replay asks while it runs: a full disk is not to be found out at the end.
TEST_F(RunTest, WriteErrorIsKnownBeforeClose) {
  auto writer = RankWriter::Create(Directory(), 0);
  ASSERT_TRUE(writer);
  EXPECT_TRUE((*writer)->status());
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(File("rank0.sqlite").c_str(), &handle), SQLITE_OK);
  sqlite3_busy_timeout(handle, 5'000);
  ASSERT_EQ(sqlite3_exec(handle, "DROP TABLE edges_rows", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(handle);
  (*writer)->Append<EdgeInfo>({{.from = 1, .to = 2, .reason = "data"}});
  for (int i = 0; i < 6'000 && (*writer)->status(); ++i) {
    usleep(10'000);
  }
  EXPECT_FALSE((*writer)->status());
}

TEST_F(RunTest, NotesSayWhyARunEndedEarlyAndWhoWasFirst) {
  const auto write = [&](int rank, const std::string& ended_by) {
    auto writer = RankWriter::Create(Directory(), rank);
    ASSERT_TRUE(writer);
    if (!ended_by.empty()) {
      (*writer)->SetFacts({.ended_by = ended_by});
    }
    ASSERT_TRUE((*writer)->Close());
    if (ended_by.empty()) {  // killed
      const std::string file = File("rank" + std::to_string(rank) + ".sqlite");
      sqlite3* handle = nullptr;
      ASSERT_EQ(sqlite3_open(file.c_str(), &handle), SQLITE_OK);
      sqlite3_exec(handle, "UPDATE ranks SET closed=0", nullptr, nullptr, nullptr);
      sqlite3_close(handle);
    }
  };
  const auto notes = [&] {
    const auto run = ReadRun(Directory());
    EXPECT_TRUE(run) << run.error().message;
    return run->notes;
  };
  write(0, "rank 1: disk full");
  write(1, "disk full");
  EXPECT_THAT(notes(), Contains("ended early: rank 1: disk full"));
  write(1, "");  // the rank at fault could not write: the other says it
  EXPECT_THAT(notes(), Contains("ended early: rank 1: disk full"));
  write(0, "ended by SIGTERM");
  EXPECT_THAT(notes(), Contains(AllOf(HasSubstr("ended early: rank 1 first, killed"),
                                      HasSubstr("ended by SIGTERM (says rank 0)"))));
  write(0, "");
  EXPECT_THAT(notes(), Not(Contains(HasSubstr("ended early"))));  // nobody knows
}

}  // namespace
}  // namespace reprise
