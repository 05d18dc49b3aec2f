#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "run/database.h"
#include "run/run.h"
#include "run/schema.h"
#include "run/table_rows.h"

namespace reprise {
namespace {

// Half of the promised 2 s, less the time that a transaction takes.
constexpr std::chrono::milliseconds kFlushPeriod{500};
// A transaction that lasts longer is committed in parts, so that what is in it becomes readable.
constexpr std::int64_t kCommitNs = 500'000'000;
constexpr std::size_t kRowsPerClockCheck = 4096;

// What callers have handed over. Batches are moved in whole: an append is O(1) under the lock.
struct Pending {
  std::vector<std::vector<NodeInfo>> nodes;
  std::vector<std::vector<EdgeInfo>> edges;
  std::vector<std::vector<CollectiveInfo>> collectives;
  std::vector<std::vector<MeteredDevice>> meters;
  std::vector<std::vector<Metric>> metrics;
  std::vector<std::vector<NodeRecord>> records;
  std::vector<std::vector<NodeJoules>> joules;
  std::vector<StepRecord> steps;
  std::vector<std::vector<Sample>> samples;
  std::vector<RunDevice> devices;
  std::vector<RunFact> facts;

  [[nodiscard]] bool Empty() const {
    return nodes.empty() && edges.empty() && collectives.empty() && meters.empty() &&
           metrics.empty() && records.empty() && joules.empty() && steps.empty() &&
           samples.empty() && devices.empty() && facts.empty();
  }
};

class SqliteRankWriter : public RankWriter {
 public:
  SqliteRankWriter(Database database, int rank)
      : database_(std::move(database)), rank_(rank), thread_([this] { Loop(); }) {}
  ~SqliteRankWriter() override { (void)Close(); }

  void AppendNodes(std::vector<NodeInfo> nodes) override { Push(&Pending::nodes, nodes); }
  void AppendEdges(std::vector<EdgeInfo> edges) override { Push(&Pending::edges, edges); }
  void AppendCollectives(std::vector<CollectiveInfo> collectives) override {
    Push(&Pending::collectives, collectives);
  }
  void AppendMeters(std::vector<MeteredDevice> meters) override { Push(&Pending::meters, meters); }
  void AppendMetrics(std::vector<Metric> metrics) override { Push(&Pending::metrics, metrics); }
  void AppendRecords(std::vector<NodeRecord> records) override { Push(&Pending::records, records); }
  void AppendJoules(std::vector<NodeJoules> joules) override { Push(&Pending::joules, joules); }
  void AppendStep(const StepRecord& step) override { Push(&Pending::steps, step); }
  void AppendSamples(std::vector<Sample> samples) override { Push(&Pending::samples, samples); }
  void AppendDevice(const RunDevice& device) override { Push(&Pending::devices, device); }
  void SetFact(const std::string& name, const std::string& value) override {
    RunFact fact{.name = name, .value = value};
    Push(&Pending::facts, fact);
  }
  [[nodiscard]] Status status() override {
    const std::lock_guard lock(mutex_);
    return status_;
  }
  [[nodiscard]] Status Close() override;

 private:
  template <typename Queue, typename Item>
  void Push(Queue Pending::*queue, Item& item) {
    const std::lock_guard lock(mutex_);
    if (!closing_ && status_) {
      (pending_.*queue).push_back(std::move(item));
    }
  }
  void Loop();
  [[nodiscard]] Status Write(const Pending& batch);
  // One prepared INSERT for all rows, committing now and then.
  template <typename Row>
  [[nodiscard]] Status WriteRows(const std::vector<Row>& rows);
  template <typename Row>
  [[nodiscard]] Status WriteBatches(const std::vector<std::vector<Row>>& batches) {
    for (const std::vector<Row>& rows : batches) {
      REPRISE_TRY(WriteRows(rows));
    }
    return {};
  }

  Database database_;
  const int rank_;
  std::int64_t transaction_start_ns_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  Pending pending_;
  Status status_;
  bool closing_ = false;
  std::mutex close_mutex_;
  bool closed_ = false;
  std::thread thread_;  // last: it uses everything above
};

void SqliteRankWriter::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait_for(lock, kFlushPeriod, [this] { return closing_; });
    const bool last = closing_;
    if (!pending_.Empty()) {
      const Pending batch = std::exchange(pending_, {});
      lock.unlock();
      Status status = Write(batch);
      lock.lock();
      if (!status) {
        status_ = std::move(status);
        return;
      }
    }
    if (last) {
      return;
    }
  }
}

template <typename Row>
Status SqliteRankWriter::WriteRows(const std::vector<Row>& rows) {
  if (rows.empty()) {
    return {};
  }
  REPRISE_ASSIGN(Statement insert, database_.Prepare(InsertSql<Row>()));
  std::size_t count = 0;
  for (const Row& row : rows) {
    REPRISE_TRY(InsertRow(insert, rank_, row));
    if (++count % kRowsPerClockCheck == 0 && MonotonicNs() - transaction_start_ns_ > kCommitNs) {
      REPRISE_TRY(database_.Execute("COMMIT; BEGIN"));
      transaction_start_ns_ = MonotonicNs();
    }
  }
  return {};
}

Status SqliteRankWriter::Write(const Pending& batch) {
  transaction_start_ns_ = MonotonicNs();
  REPRISE_TRY(database_.Execute("BEGIN"));
  // Small tables first: they are what a reader needs to understand the others.
  REPRISE_TRY(WriteRows(batch.devices));
  REPRISE_TRY(WriteRows(batch.facts));
  REPRISE_TRY(WriteRows(batch.steps));
  REPRISE_TRY(WriteBatches(batch.meters));
  REPRISE_TRY(WriteBatches(batch.metrics));
  REPRISE_TRY(WriteBatches(batch.samples));
  REPRISE_TRY(WriteBatches(batch.collectives));
  REPRISE_TRY(WriteBatches(batch.nodes));
  REPRISE_TRY(WriteBatches(batch.records));
  REPRISE_TRY(WriteBatches(batch.joules));
  REPRISE_TRY(WriteBatches(batch.edges));
  return database_.Execute("COMMIT");
}

Status SqliteRankWriter::Close() {
  const std::lock_guard close_lock(close_mutex_);
  if (closed_) {
    return status_;
  }
  closed_ = true;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  thread_.join();
  if (status_) {
    status_ = database_.Execute("UPDATE ranks SET closed=1");
    // A finished run is plain files that can be read from a read-only directory. Where somebody is
    // reading at this moment the log stays, which is no error.
    (void)database_.Execute("PRAGMA busy_timeout=100; PRAGMA journal_mode=DELETE");
  }
  const Status closed = database_.Close();
  if (status_ && !closed) {
    status_ = closed;
  }
  return status_;
}

}  // namespace

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "unknown";
}

Result<std::unique_ptr<RankWriter>> RankWriter::Create(const std::string& directory, int rank) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    return EnvironmentError(directory + ": not a directory");
  }
  const std::string path = RankPath(directory, rank);
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    std::filesystem::remove(path + suffix, error);
    if (error) {
      return EnvironmentError(path + suffix + ": cannot be replaced: " + error.message());
    }
  }
  REPRISE_ASSIGN(Database database, Database::Open(path, Database::Access::kCreate));
  // WAL: a commit appends to a log and a reader never blocks the writer. NORMAL: no fsync at a
  // commit (a killed process loses nothing, since the kernel has the pages), one before each
  // checkpoint, so that even a power cut leaves an intact file. Both happen in the background.
  REPRISE_TRY(database.Execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"));
  REPRISE_TRY(database.Execute("BEGIN;" + RankSchema() + "COMMIT;"));
  REPRISE_ASSIGN(Statement insert, database.Prepare(InsertSql<RankFileRow>()));
  REPRISE_TRY(InsertRow(insert, rank, RankFileRow{.host = HostName(), .pid = getpid()}));
  return std::unique_ptr<RankWriter>(new SqliteRankWriter(std::move(database), rank));
}

}  // namespace reprise
