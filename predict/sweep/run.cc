#include "predict/sweep/run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/file.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "core/file_descriptor.h"
#include "core/input_file.h"
#include "core/json_fields.h"
#include "core/parallel.h"
#include "core/parse_json.h"
#include "core/text.h"
#include "et_schema/output_file.h"
#include "et_schema/trace_set.h"
#include "predict/search/estimate.h"
#include "predict/simulator/network.h"
#include "predict/sweep/figures.h"
#include "report/page/html.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLineBegin = R"({"xxh128":")";
constexpr std::string_view kLineMiddle = R"(","row":)";
constexpr std::size_t kHashDigits = 32;
constexpr std::uint64_t kMaxRowsBytes = std::uint64_t{4} << 30;  // a million rows

// A line of kSweepRowsFile: the row with the checksum of its text.
std::string LineOf(const std::string& row) {
  return fmt::format("{}{}{}{}}}\n", kLineBegin, HashOfText(row), kLineMiddle, row);
}

// The row's text; nothing: the line is none of LineOf's, or changed.
std::optional<std::string_view> RowOfLine(std::string_view line) {
  constexpr std::size_t kBefore = kLineBegin.size() + kHashDigits + kLineMiddle.size();
  if (line.size() <= kBefore || !line.starts_with(kLineBegin) || !line.ends_with('}') ||
      line.substr(kLineBegin.size() + kHashDigits, kLineMiddle.size()) != kLineMiddle) {
    return std::nullopt;
  }
  const std::string_view row = line.substr(kBefore, line.size() - kBefore - 1);
  return line.substr(kLineBegin.size(), kHashDigits) == HashOfText(row) ? std::optional(row)
                                                                        : std::nullopt;
}

class SweepRun {
 public:
  explicit SweepRun(const SweepRequest& request)
      : request_(request), sweep_(*request.sweep), estimator_(*request.machine) {}

  Result<SweepTable> Run() {
    for (const SweepJob& job : sweep_.jobs) {
      workloads_.push_back(MakeJob(job.options));
    }
    REPRISE_TRY(CheckMachine());
    REPRISE_TRY(LockDirectory());
    REPRISE_TRY(OpenRows());
    std::vector<std::size_t> possible;
    progress_.of = sweep_.jobs.size();
    for (std::size_t i = 0; i < sweep_.jobs.size(); ++i) {
      if (done_.contains(TextOf(i))) {
        ++progress_.known;
      } else if (workloads_[i]) {
        possible.push_back(i);
      } else {
        ++progress_.cannot_be;
        Finish(i, {.values = sweep_.jobs[i].values, .reason = workloads_[i].error().message});
      }
    }
    ForEachInParallel(possible.size(), [&](std::size_t i) { Simulate(possible[i]); });
    REPRISE_TRY(std::move(status_));
    file_.close();
    if (!file_) {
      return EnvironmentError(fmt::format("{}: cannot be written", RowsPath()));
    }
    return MakeTable();
  }

 private:
  [[nodiscard]] std::string RowsPath() const {
    return (fs::path(request_.directory) / kSweepRowsFile).string();
  }
  [[nodiscard]] std::string TextOf(std::size_t i) const {
    return ConfigurationText(sweep_.keys, sweep_.jobs[i].values);
  }

  // Two sweeps at a time would write into each other's rows. The lock ends with the process.
  Status LockDirectory() {
    std::error_code error;
    fs::create_directories(request_.directory, error);
    directory_ =
        FileDescriptor(::open(request_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory_.get() < 0) {
      return EnvironmentError(
          fmt::format("{}: cannot be opened: {}", request_.directory, std::strerror(errno)));
    }
    // Some file systems have no locks: then nothing is known of others.
    return ::flock(directory_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
               ? Status{}
               : UsageError(fmt::format("another sweep writes into {}; wait for its end, or give "
                                        "another -o",
                                        request_.directory));
  }

  // Of an earlier sweep with the same settings, its rows; a last line that was cut off is left out.
  Status ReadRows(const Json& header) {
    REPRISE_ASSIGN(const std::string text, ReadText(RowsPath(), kMaxRowsBytes));
    std::vector<std::string_view> lines = SplitText(text, '\n');
    const Json first = ParseJson<Json>(lines.front(), false);
    if (!first.is_object() || first != header) {  // what is no JSON is not unequal to anything
      return UsageError(fmt::format(
          "{} holds a sweep of another job, machine or version of reprise; give another "
          "directory, or --force to replace it",
          request_.directory));
    }
    lines.pop_back();  // after the last line end
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const std::string origin = fmt::format("{}: line {}", RowsPath(), i + 1);
      const std::optional<std::string_view> of_line = RowOfLine(lines[i]);
      if (!of_line) {
        return BadInput(fmt::format(
            "{}: damaged or changed: its checksum is not that of the row; remove the line to "
            "predict the row again, or give --force to predict all",
            origin));
      }
      REPRISE_ASSIGN(SweepRow row, ParseRow(sweep_.keys, ParseJson<Json>(*of_line, false), origin));
      if (request_.all && row.possible && !row.step_time_ns) {
        continue;  // was not simulated
      }
      std::string configuration = ConfigurationText(sweep_.keys, row.values);
      done_.insert_or_assign(std::move(configuration), std::move(row));
    }
    return {};
  }

  Status OpenRows() {
    std::error_code error;
    const Json header = {
        {"format", "reprise-sweep"}, {"version", 4}, {"settings", request_.settings}};
    if (fs::exists(RowsPath(), error) && !request_.force) {
      REPRISE_TRY(ReadRows(header));
    }
    for (const char* const name :
         {kSweepCsvFile, kSweepTableFile, kSweepPageFile, kSweepFiguresFile}) {
      if (request_.force) {  // where this sweep is ended early, they would be the old one's
        fs::remove(fs::path(request_.directory) / name, error);
      }
    }
    // What is known is written again: a line that was cut off must not spoil the next one.
    file_.open(RowsPath(), std::ios::trunc);
    file_ << header.dump() << "\n";
    for (const auto& [text, row] : done_) {
      WriteRow(row);
    }
    return file_ ? Status{} : EnvironmentError(fmt::format("{}: cannot be written", RowsPath()));
  }

  void WriteRow(const SweepRow& row) {
    file_ << LineOf(RowJson(sweep_.keys, row).dump(-1, ' ', false, Json::error_handler_t::replace));
    file_.flush();  // an interrupted sweep continues from here
  }

  // What is wrong for all of them: too few devices, a link or rank that is not there.
  [[nodiscard]] Status CheckMachine() const {
    std::set<std::int64_t> ranks;
    for (const Result<Workload>& workload : workloads_) {
      if (workload) {
        ranks.insert(workload->layout.ranks());
      }
    }
    if (ranks.empty()) {
      return {};
    }
    const ScaleOptions& options = request_.machine->options;
    REPRISE_TRY(
        SlowFactors(options.slow_ranks, static_cast<std::size_t>(*ranks.rbegin()), "ranks"));
    if (!Network::Create(*options.to, *ranks.begin(), options.slow_links)) {
      REPRISE_TRY(Network::Create(*options.to, *ranks.rbegin(), options.slow_links));
    }
    return {};
  }

  // Whether the job does not fit by the estimate.
  Result<bool> IsTooLarge(const Workload& workload, SweepRow& row) {
    const MachineModel& machine = *request_.machine->options.to;
    if (request_.all) {
      return false;
    }
    REPRISE_ASSIGN(const JobEstimate estimate, estimator_.Estimate(workload));
    if (estimate.peak_bytes <= machine.device.memory_bytes.value) {
      return false;
    }
    TakeEstimate(estimate, machine, row);
    return true;
  }

  void Simulate(std::size_t i) {
    const Workload& workload = *workloads_[i];
    SweepRow row = {.values = sweep_.jobs[i].values};
    DescribeJob(workload, row);
    const bool simulates = !IsTooLarge(workload, row).value_or(false);
    Result<Prediction> prediction;
    if (simulates) {
      prediction = PredictJob(*request_.machine, workload, {});
      if (prediction) {
        TakePrediction(*prediction, row);
      } else {
        row.reason = prediction.error().message;
      }
    }
    const std::lock_guard lock(mutex_);
    if (!prediction && prediction.error().kind == ErrorKind::kEnvironment) {
      status_ = status_ ? Status(tl::unexpected<Error>(prediction.error())) : status_;
      return;
    }
    progress_.too_large += simulates ? 0 : 1;
    progress_.simulated += simulates && prediction ? 1 : 0;
    progress_.cannot_be += prediction ? 0 : 1;
    Finish(i, std::move(row));
  }

  void Finish(std::size_t place, SweepRow&& row) {
    Place(place, row);
    WriteRow(row);
    done_.insert_or_assign(TextOf(place), std::move(row));
    if (request_.progress) {
      request_.progress(progress_);
    }
  }

  void Place(std::size_t i, SweepRow& row) const {
    row.place = i;
    row.model = sweep_.jobs[i].model;
    row.layout = sweep_.jobs[i].layout;
    row.setting = sweep_.jobs[i].setting;
  }

  Result<SweepTable> MakeTable() {
    SweepTable table{
        .title = fmt::format("{} on {}", sweep_.name, request_.machine->options.to->name),
        .rank_by = request_.rank_by,
        .keys = sweep_.keys,
        .several_models = sweep_.several_models};
    for (std::size_t i = 0; i < sweep_.jobs.size(); ++i) {
      table.rows.push_back(std::move(done_.at(TextOf(i))));
      Place(i, table.rows.back());  // an earlier sweep may have had fewer values
    }
    if (std::ranges::none_of(table.rows, &SweepRow::possible)) {
      std::error_code error;
      fs::remove(RowsPath(), error);
      fs::remove(request_.directory, error);  // only if nothing else is in it
      return BadInput(fmt::format("no configuration can be; the first, {}: {}", TextOf(0),
                                  table.rows.front().reason));
    }
    REPRISE_TRY(RankRows(table));
    REPRISE_ASSIGN(const std::string figures, SweepFiguresJson(table));
    REPRISE_TRY(Write(kSweepCsvFile, [&](std::ostream& out) { WriteCsv(table, out); }));
    REPRISE_TRY(Write(kSweepTableFile, [&](std::ostream& out) { out << SweepJson(table); }));
    REPRISE_TRY(Write(kSweepPageFile, [&](std::ostream& out) { out << SweepPage(table); }));
    REPRISE_TRY(Write(kSweepFiguresFile,
                      [&](std::ostream& out) { out << HtmlPage(figures, PageKind::kComparison); }));
    return table;
  }

  template <typename Fill>
  Status Write(const char* name, const Fill& fill) const {
    REPRISE_ASSIGN(OutputFile file,
                   OutputFile::Create((fs::path(request_.directory) / name).string(), true));
    fill(file.stream());
    return file.Commit();
  }

  const SweepRequest& request_;
  const Sweep& sweep_;
  JobEstimator estimator_;
  std::vector<Result<Workload>> workloads_;  // by job: checked, or why it cannot be
  FileDescriptor directory_;                 // holds the lock
  std::ofstream file_;
  std::map<std::string, SweepRow> done_;  // by configuration
  SweepProgress progress_;
  std::mutex mutex_;
  Status status_;
};

}  // namespace

Result<SweepTable> RunSweep(const SweepRequest& request) {
  REPRISE_TRY(request.machine->CheckWithoutTimes(/*job=*/true));
  if (request.rank_by == "energy" && !HasPower(request.machine->options.to->device)) {
    return UsageError(
        "--rank-by energy: the machine says nothing of power, so that no configuration has an "
        "energy");
  }
  // Thousands of jobs are made and dropped: memory that goes back to the system each time would
  // come back page by page.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, 64 << 20);
  return SweepRun(request).Run();
}

}  // namespace reprise
