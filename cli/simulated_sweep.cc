#include "cli/simulated_sweep.h"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/csv_rows.h"
#include "cli/folded_job.h"
#include "cli/output_file.h"
#include "cli/sweep_grid.h"
#include "cli/sweep_table.h"
#include "cli/terminal.h"
#include "core/counted.h"
#include "core/parallel.h"
#include "core/shown_text.h"
#include "workload/job/parse.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using JobRow = nlohmann::ordered_json;

constexpr char kRowsFile[] = "rows.jsonl";

// What a configuration is, whatever was swept.
JobRow DescribeLayout(const Workload& w) {
  const Layout& l = w.layout;
  return {{"ranks", l.ranks()},
          {"tp", l.tp},
          {"pp", l.pp},
          {"dp", l.dp},
          {"ep", l.ep},
          {"cp", l.cp},
          {"global-batch", w.global_batch},
          {"micro-batch", w.micro_batch},
          {"micro_batches", w.micro_batches()}};
}

// Counts and rates of the prediction, as `simulate --json` has them; what is recorded, and lists,
// have no place in a table.
void TakeScalars(const JobRow& prediction, JobRow& row) {
  for (const auto& [key, value] : prediction.items()) {
    const bool recorded = key.ends_with("_recorded_ns") || key == "captured_on";
    if (value.is_primitive() && !recorded) {
      row[key] = value;
    }
  }
  for (const char* const key : {"fits", "peak_bytes", "of_bytes"}) {
    row[key] = prediction.at("memory").at(key);
  }
}

class JobSweep {
 public:
  JobSweep(const JobSweepRequest& request, std::vector<SweepKey> keys)
      : request_(request), keys_(std::move(keys)) {}

  Status Run() {
    REPRISE_ASSIGN(const std::vector<Configuration> all, AllConfigurations(keys_));
    REPRISE_TRY(OpenRows());
    std::vector<const Configuration*> missing;
    for (const Configuration& configuration : all) {
      if (!done_.contains(ConfigurationText(keys_, configuration))) {
        missing.push_back(&configuration);
      }
    }
    known_ = all.size() - missing.size();
    total_ = all.size();
    started_ = Clock::now();
    ForEachInParallel(missing.size(), [&](std::size_t i) { Simulate(*missing[i]); });
    Progress(true);
    REPRISE_TRY(std::move(status_));
    file_.close();
    if (!file_) {
      return EnvironmentError(fmt::format("{}: cannot be written", RowsPath()));
    }
    JobRow rows = JobRow::array();
    for (const Configuration& configuration : all) {
      rows.push_back(done_.at(ConfigurationText(keys_, configuration)));
    }
    return Show(std::move(rows));
  }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] std::string RowsPath() const {
    return (fs::path(request_.directory) / kRowsFile).string();
  }

  // Of an earlier sweep with the same settings, its rows; a last line that is not whole is left
  // out.
  Status OpenRows() {
    std::error_code error;
    const bool there = fs::exists(RowsPath(), error);
    if (!there && fs::exists(request_.directory, error) &&
        !fs::is_empty(request_.directory, error) && !request_.force) {
      return UsageError(
          fmt::format("{} is there and holds no sweep; give another directory, or "
                      "--force to write into it",
                      request_.directory));
    }
    const JobRow header = {
        {"format", "reprise-sweep"}, {"version", 1}, {"settings", request_.settings}};
    if (there && !request_.force) {
      std::ifstream in(RowsPath());
      std::string line;
      std::getline(in, line);
      if (JobRow::parse(line, nullptr, false) != header) {
        return UsageError(fmt::format(
            "{} holds a sweep of another job, machine or version of reprise; give another "
            "directory, or --force to replace it",
            request_.directory));
      }
      while (std::getline(in, line)) {
        JobRow row = JobRow::parse(line, nullptr, false);
        if (row.is_object() && row.contains("configuration")) {
          done_.insert_or_assign(row["configuration"].get<std::string>(), std::move(row));
        }
      }
    }
    fs::create_directories(request_.directory, error);
    // What is known is written again: a line that was cut off must not spoil the next one.
    file_.open(RowsPath(), std::ios::trunc);
    file_ << header.dump() << "\n";
    for (const auto& [text, row] : done_) {
      file_ << row.dump() << "\n";
    }
    file_.flush();
    return file_ ? Status{} : EnvironmentError(fmt::format("{}: cannot be written", RowsPath()));
  }

  Result<JobRow> Predict(const Configuration& configuration, JobRow& row) const {
    WorkloadFlags flags = request_.workload;
    for (std::size_t k = 0; k < keys_.size(); ++k) {
      REPRISE_TRY(SetWorkloadOption(keys_[k].name, configuration[k], flags));
    }
    REPRISE_ASSIGN(const Workload workload, MakeWorkload(flags));
    row.update(DescribeLayout(workload));
    REPRISE_ASSIGN(const GeneratedJob job, GenerateFoldedJob(workload, false));
    SimulatedSet simulated = *request_.machine;
    simulated.job = FactsOf(workload, job.summary);
    const TraceSet set{.name = job.folded.classes->SetName(), .classes = job.folded.classes};
    REPRISE_TRY(simulated.RunFolded({}, set, job.folded, request_.fold));
    row["tokens"] = simulated.job->tokens;
    row["samples"] = simulated.job->samples;
    return simulated.ToJson({});
  }

  void Simulate(const Configuration& configuration) {
    JobRow row = {{"configuration", ConfigurationText(keys_, configuration)}};
    for (std::size_t k = 0; k < keys_.size(); ++k) {
      row[keys_[k].name] = configuration[k];
    }
    const Result<JobRow> prediction = Predict(configuration, row);
    // As they were given: "4", not 4 in one row and "4" in another.
    for (std::size_t k = 0; k < keys_.size(); ++k) {
      row[keys_[k].name] = configuration[k];
    }
    row["possible"] = prediction.has_value();
    if (prediction) {
      TakeScalars(*prediction, row);
    } else {
      row["reason"] = prediction.error().message;
      row["fits"] = false;
    }
    const std::lock_guard lock(mutex_);
    const bool environment = !prediction && prediction.error().kind == ErrorKind::kEnvironment;
    if (environment) {
      status_ = status_ ? Status(tl::unexpected<Error>(prediction.error())) : status_;
      return;
    }
    file_ << row.dump(-1, ' ', false, JobRow::error_handler_t::replace) << "\n";
    file_.flush();  // a sweep that is ended goes on from here
    ++simulated_;
    impossible_ += prediction ? 0 : 1;
    done_.insert_or_assign(ConfigurationText(keys_, configuration), std::move(row));
    Progress(false);
  }

  // On a terminal one line that is written over, elsewhere a line every ten seconds.
  void Progress(bool end) {
    const auto now = Clock::now();
    const std::chrono::duration<double> gone = now - started_;
    const bool terminal = ShownOnTerminal(STDERR_FILENO);
    const auto every = terminal ? std::chrono::milliseconds(200) : std::chrono::seconds(10);
    if (!end && now - shown_ < every) {
      return;
    }
    if (shown_ == Clock::time_point{} && (end || gone < every)) {
      shown_ = terminal ? shown_ : started_;
      if (!terminal || end) {
        return;
      }
    }
    shown_ = now;
    const std::size_t left = total_ - known_ - simulated_;
    const double seconds =
        simulated_ > 0 ? gone.count() * static_cast<double>(left) / static_cast<double>(simulated_)
                       : 0;
    fmt::print(stderr, "{}{} of {} ({} cannot be), {:.0f} s left{}", terminal ? "\r" : "",
               known_ + simulated_, Counted(total_, "configuration"), impossible_, seconds,
               terminal && !end ? "\033[K" : "\n");
    std::fflush(stderr);
  }

  Status Show(JobRow rows) {
    SweepTable table{
        .title = fmt::format("{} on {}", fs::path(request_.workload.what).stem().string(),
                             request_.machine->options.to->name),
        .rank_by = request_.flags.rank_by};
    for (const SweepKey& key : keys_) {
      table.keys.push_back(key.name);
    }
    const bool none = std::none_of(rows.begin(), rows.end(),
                                   [](const JobRow& row) { return row.value("possible", false); });
    if (none) {
      return BadInput(fmt::format("no configuration can be; the first, {}: {}",
                                  rows.front()["configuration"].get<std::string>(),
                                  rows.front()["reason"].get<std::string>()));
    }
    REPRISE_TRY(RankRows(table, rows));
    const fs::path directory(request_.directory);
    const auto write = [&directory](const char* name, const auto& fill) -> Status {
      REPRISE_ASSIGN(OutputFile file, OutputFile::Create((directory / name).string(), true));
      fill(file.stream());
      return file.Commit();
    };
    const JobRow whole = {{"warnings", SweepWarnings(rows)},
                          {"format", "reprise-sweep"},
                          {"version", 1},
                          {"title", table.title},
                          {"ranked_by", table.rank_by},
                          {"swept", table.keys},
                          {"modelled", true},
                          {"configurations", rows}};
    const std::string text = whole.dump(1, ' ', false, JobRow::error_handler_t::replace);
    REPRISE_TRY(write("sweep.csv", [&rows](std::ostream& out) { WriteCsv(rows, out); }));
    REPRISE_TRY(write("sweep.json", [&text](std::ostream& out) { out << text << "\n"; }));
    REPRISE_TRY(write("index.html", [&](std::ostream& out) { out << SweepPage(table, rows); }));
    if (request_.json) {
      fmt::print("{}\n", text);
      return {};
    }
    fmt::print("{}\npage {}, table {}\n", SweepText(table, rows),
               (directory / "index.html").string(), (directory / "sweep.csv").string());
    return {};
  }

  const JobSweepRequest& request_;
  std::vector<SweepKey> keys_;
  std::ofstream file_;
  std::map<std::string, JobRow> done_;  // by configuration
  std::size_t known_ = 0, total_ = 0, simulated_ = 0, impossible_ = 0;
  Clock::time_point started_, shown_;
  std::mutex mutex_;
  Status status_;
};

}  // namespace

void AddJobSweepFlags(CLI::App& app, JobSweepFlags& flags) {
  constexpr const char* kGroup = "Sweep";
  app.add_option("--sweep", flags.keys,
                 "KEY=V,V: simulate the job with each value of an option of layout or step, and "
                 "all combinations of several such keys; -o is the directory of the tables and the "
                 "page. Lists are joined by +, flags are on or off")
      ->take_all()
      ->allow_extra_args(false)
      ->group(kGroup);
  app.add_option("--rank-by", flags.rank_by, "time, energy or memory (default: time)")
      ->check(CLI::IsMember({"time", "energy", "memory"}))
      ->group(kGroup);
}

Status RunJobSweep(const JobSweepRequest& request) {
  // Thousands of jobs are made and dropped: memory that goes back to the system each time would
  // come back page by page.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, 64 << 20);
  REPRISE_ASSIGN(std::vector<SweepKey> keys, ParseSweepKeys(request.flags.keys));
  REPRISE_ASSIGN([[maybe_unused]] const Workload known, ReadWorkload(request.workload.what));
  return JobSweep(request, std::move(keys)).Run();
}

}  // namespace reprise
