#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "core/clock.h"
#include "core/sqlite/database.h"
#include "report/run/repeated_rows.h"
#include "report/run/row_columns.h"
#include "report/run/run.h"
#include "report/run/schema.h"
#include "report/run/table_rows.h"

namespace reprise {
namespace {

// Half of the promised 2 s, less the time that a transaction takes.
constexpr std::chrono::milliseconds kFlushPeriod{500};
// A transaction that lasts longer is committed in parts, so that what is in it becomes readable.
constexpr std::int64_t kCommitNs = 500'000'000;
constexpr std::size_t kRowsPerClockCheck = 4096;

// What callers have handed over, in the order of writing: small tables first, which a reader needs
// to understand the others. Batches are moved in whole: an append is O(1) under the lock.
template <typename... Rows>
using Batches = std::tuple<std::vector<std::vector<Rows>>...>;
using Pending = Batches<RankFileRow, RunDevice, RunFact, StepRecord, MeteredDevice, Metric, Sample,
                        CollectiveInfo, NodeInfo, NodeRecord, NodeJoules, EdgeInfo>;

// Of a table with shared columns.
template <typename Row>
struct StoredOf {
  std::unordered_map<std::string, std::int64_t> numbers;  // in <table>_shared, by values' bytes
  std::int64_t rows = 0;                                  // in <table>_rows
  RepeatedRows<Row> repeated;
};
using StoredTables = std::tuple<StoredOf<CollectiveInfo>, StoredOf<NodeInfo>, StoredOf<NodeRecord>,
                                StoredOf<NodeJoules>, StoredOf<EdgeInfo>>;

template <typename Member>
void LeaveOutOf(Member& member, ProvenanceRule rule, const std::string& host) {
  if constexpr (std::is_same_v<Member, std::string>) {
    member = WithoutProvenance(rule, member, host);
  } else {
    member = Member{};
  }
}

// What is left of rows without provenance.
template <typename Row>
void LeaveOut(std::vector<Row>& rows, const std::string& host) {
  const std::string_view table = TableName(static_cast<const Row*>(nullptr));
  if (std::ranges::find(kProvenanceFields, table, &ProvenanceField::table) ==
      kProvenanceFields.end()) {
    return;
  }
  for (Row& row : rows) {
    VisitColumns(row, [&](const RunColumn& column, auto& member) {
      if (const ProvenanceField* field = FindProvenanceField(table, column.name)) {
        LeaveOutOf(member, field->rule, host);
      }
    });
  }
}
// Facts are rows with names.
template <>
void LeaveOut(std::vector<RunFact>& facts, const std::string& host) {
  std::vector<RunFact> left;
  for (RunFact& fact : facts) {
    const ProvenanceField* const field = FindProvenanceField("facts", fact.name);
    if (field == nullptr) {
      left.push_back(std::move(fact));
    } else if (field->rule != ProvenanceRule::kLeftOut) {
      left.push_back({fact.name, WithoutProvenance(field->rule, fact.value, host)});
    }
  }
  facts = std::move(left);
}

bool IsEmpty(const Pending& pending) {
  return std::apply([](const auto&... batches) { return (batches.empty() && ...); }, pending);
}

}  // namespace

class RankWriter::Impl {
 public:
  Impl(Database database, std::string directory, int rank, RankProvenance provenance)
      : database_(std::move(database)),
        directory_(std::move(directory)),
        rank_(rank),
        provenance_(provenance),
        thread_([this] { Loop(); }) {}

  template <typename Row>
  void Push(std::vector<Row>&& rows) {
    if (provenance_.provenance == Provenance::kNone) {
      LeaveOut(rows, NumberedHostName(provenance_.host));
    }
    const std::lock_guard lock(mutex_);
    if (!closing_ && status_) {
      std::get<std::vector<std::vector<Row>>>(pending_).push_back(std::move(rows));
    }
  }
  [[nodiscard]] Status status() {
    const std::lock_guard lock(mutex_);
    return status_;
  }
  [[nodiscard]] Status Close();
  void EndEarly() { ended_early_ = true; }

 private:
  void Loop();
  [[nodiscard]] Status Write(Pending&& batch);
  // Both: one prepared INSERT for all rows, committing now and then.
  template <typename Row>
  [[nodiscard]] Status WritePlain(const std::vector<Row>& rows);
  template <typename Row>
  [[nodiscard]] Status WriteShared(std::vector<Row>&& rows);
  void StoreColumns() const;
  // After so many rows of a batch.
  [[nodiscard]] bool IsTimeToCommit(std::size_t rows) const;
  [[nodiscard]] Status Commit();
  // The number of the row in <table>_shared that has the row's shared values; writes it where it
  // is new. `insert`: of such rows.
  template <typename Row>
  [[nodiscard]] Result<std::int64_t> SharedNumber(const Row& row, Statement& insert);

  Database database_;
  const std::string directory_;
  const int rank_;
  const RankProvenance provenance_;
  std::int64_t transaction_start_ns_ = 0;
  StoredTables stored_;
  std::string shared_bytes_;  // of the row that is written
  std::mutex mutex_;
  std::condition_variable wake_;
  Pending pending_;
  Status status_;
  bool closing_ = false;
  std::atomic<bool> ended_early_ = false;
  std::mutex close_mutex_;
  bool closed_ = false;
  std::thread thread_;  // last: it uses everything above
};

void RankWriter::Impl::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait_for(lock, kFlushPeriod, [this] { return closing_; });
    const bool last = closing_;
    if (!IsEmpty(pending_)) {
      Pending batch = std::exchange(pending_, {});
      lock.unlock();
      Status status = Write(std::move(batch));
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
Result<std::int64_t> RankWriter::Impl::SharedNumber(const Row& row, Statement& insert) {
  SharedBytes(row, shared_bytes_);
  auto& numbers = std::get<StoredOf<Row>>(stored_).numbers;
  const auto [at, added] =
      numbers.try_emplace(shared_bytes_, static_cast<std::int64_t>(numbers.size()) + 1);
  if (added) {
    insert.Bind(1, at->second);
    insert.Bind(2, rank_);
    BindColumns(insert, row, ColumnPart::kShared, 3);
    REPRISE_TRY(insert.Finish());
  }
  return at->second;
}

bool RankWriter::Impl::IsTimeToCommit(std::size_t rows) const {
  return rows % kRowsPerClockCheck == 0 && MonotonicNs() - transaction_start_ns_ > kCommitNs;
}

Status RankWriter::Impl::Commit() {
  REPRISE_TRY(database_.Execute("COMMIT; BEGIN"));
  transaction_start_ns_ = MonotonicNs();
  return {};
}

template <typename Row>
Status RankWriter::Impl::WritePlain(const std::vector<Row>& rows) {
  REPRISE_ASSIGN(Statement insert, database_.Prepare(InsertSql<Row>(ColumnPart::kAll, "rank")));
  std::size_t count = 0;
  for (const Row& row : rows) {
    insert.Bind(1, rank_);
    BindColumns(insert, row, ColumnPart::kAll, 2);
    REPRISE_TRY(insert.Finish());
    if (IsTimeToCommit(++count)) {
      REPRISE_TRY(Commit());
    }
  }
  return {};
}

template <typename Row>
Status RankWriter::Impl::WriteShared(std::vector<Row>&& rows) {
  REPRISE_ASSIGN(Statement insert_part,
                 database_.Prepare(fmt::format("INSERT INTO {} VALUES(?,?,?,?)",
                                               PartsOf(TableName(rows.data())))));
  const auto add_part = [&](const RowPart& part) {
    insert_part.Bind(1, part.first);
    insert_part.Bind(2, part.last);
    insert_part.Bind(3, part.back);
    insert_part.Bind(4, part.repetition);
    return insert_part.Finish();
  };
  StoredOf<Row>& stored = std::get<StoredOf<Row>>(stored_);
  if (const std::optional<RowPart> part = stored.repeated.Continue(rows)) {
    return add_part(*part);
  }
  REPRISE_ASSIGN(Statement insert, database_.Prepare(InsertSql<Row>(ColumnPart::kOwn, "shared")));
  REPRISE_ASSIGN(Statement insert_shared,
                 database_.Prepare(InsertSql<Row>(ColumnPart::kShared, "shared, rank")));
  const std::int64_t first = stored.rows + 1;
  RowPart part{.first = first};
  for (const Row& row : rows) {
    REPRISE_ASSIGN(const std::int64_t number, SharedNumber(row, insert_shared));
    insert.Bind(1, number);
    BindColumns(insert, row, ColumnPart::kOwn, 2);
    REPRISE_TRY(insert.Finish());
    part.last = ++stored.rows;
    if (IsTimeToCommit(static_cast<std::size_t>(part.last - first + 1))) {
      REPRISE_TRY(add_part(part));
      part.first = part.last + 1;
      REPRISE_TRY(Commit());
    }
  }
  if (part.last >= part.first) {
    REPRISE_TRY(add_part(part));
  }
  stored.repeated.Stored(std::move(rows), first);
  return {};
}

Status RankWriter::Impl::Write(Pending&& batch) {
  transaction_start_ns_ = MonotonicNs();
  REPRISE_TRY(database_.Execute("BEGIN"));
  Status status;
  const auto write = [&]<typename Row>(std::vector<std::vector<Row>>& batches) {
    for (std::vector<Row>& rows : batches) {
      if (!status || rows.empty()) {
        continue;
      }
      if constexpr (kHasShared<Row>) {
        status = WriteShared(std::move(rows));
      } else {
        status = WritePlain(rows);
      }
      rows = std::vector<Row>();
    }
  };
  std::apply([&write](auto&... batches) { (write(batches), ...); }, batch);
  REPRISE_TRY(std::move(status));
  return database_.Execute("COMMIT");
}

Status RankWriter::Impl::Close() {
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
  if (status_ && !ended_early_) {
    StoreColumns();
  }
  return status_;
}

// Of a rank that came to its end: other runs are not complete, and no checksum says what is read.
// Where they cannot be written, reports take longer.
void RankWriter::Impl::StoreColumns() const {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(RankPath(directory_, rank_), error);
  if (!error && static_cast<std::int64_t>(bytes) >= kColumnsFromBytes) {
    (void)WriteRowColumns(directory_, rank_);
  }
}

RankWriter::RankWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RankWriter::~RankWriter() { (void)Close(); }

void RankWriter::SetFacts(const RankFacts& facts) {
  if (!facts.ended_by.empty()) {
    impl_->EndEarly();
  }
  Append(FactRows(facts));
}
Status RankWriter::status() { return impl_->status(); }
Status RankWriter::Close() { return impl_->Close(); }

template <typename Row>
void RankWriter::Append(std::vector<Row> rows) {
  impl_->Push(std::move(rows));
}
#define REPRISE_TABLE(table, Struct, where) template void RankWriter::Append(std::vector<Struct>);
#include "report/run/schema.def"

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "unknown";
}

Result<std::unique_ptr<RankWriter>> RankWriter::Create(const std::string& directory, int rank,
                                                       RankProvenance provenance) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    return EnvironmentError(directory + ": not a directory");
  }
  const std::string path = RankPath(directory, rank);
  for (const std::string& file : {path, path + "-wal", path + "-shm", path + "-journal",
                                  ColumnsPath(directory, rank), SumsPath(directory, rank)}) {
    std::filesystem::remove(file, error);
    if (error) {
      return EnvironmentError(file + ": cannot be replaced: " + error.message());
    }
  }
  REPRISE_ASSIGN(Database database, Database::Open(path, Database::Access::kCreate));
  // WAL: a commit appends to a log and a reader never blocks the writer. NORMAL: no fsync at a
  // commit (a killed process loses nothing, since the kernel has the pages), one before each
  // checkpoint, so that even a power cut leaves an intact file. Both happen in the background.
  // Large pages and seldom checkpoints: rows only ever follow the last.
  REPRISE_TRY(
      database.Execute("PRAGMA page_size=16384; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                       "PRAGMA wal_autocheckpoint=4096;"));
  REPRISE_TRY(database.Execute("BEGIN;" + RankSchema() + "COMMIT;"));
  std::vector<RankFileRow> own = {{.host = HostName(), .device = {}, .pid = getpid()}};
  if (provenance.provenance == Provenance::kNone) {
    LeaveOut(own, NumberedHostName(provenance.host));
  }
  REPRISE_ASSIGN(Statement insert,
                 database.Prepare(InsertSql<RankFileRow>(ColumnPart::kAll, "rank")));
  insert.Bind(1, rank);
  BindColumns(insert, own.front(), ColumnPart::kAll, 2);
  REPRISE_TRY(insert.Finish());
  return std::unique_ptr<RankWriter>(
      new RankWriter(std::make_unique<Impl>(std::move(database), directory, rank, provenance)));
}

}  // namespace reprise
