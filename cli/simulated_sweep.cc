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
#include "cli/given_path.h"
#include "cli/launched_rank.h"
#include "cli/output_file.h"
#include "cli/simulate_options.h"
#include "cli/sweep_figures.h"
#include "cli/sweep_grid.h"
#include "cli/sweep_table.h"
#include "core/counted.h"
#include "core/parallel.h"
#include "core/shown_text.h"
#include "report/page/html.h"
#include "workload/job/generate.h"
#include "workload/job/parse.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using JobRow = nlohmann::ordered_json;

constexpr char kTableFile[] = "sweep.csv", kPageFile[] = "index.html",
               kFiguresFile[] = "figures.html";

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
  JobSweep(const JobSweepRequest& request, GridSweep sweep)
      : request_(request), keys_(std::move(sweep.keys)), sweep_(std::move(sweep)) {}

  Status Run() {
    const std::vector<Configuration>& all = sweep_.configurations;
    REPRISE_TRY(OpenRows());
    std::vector<std::size_t> missing;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!done_.contains(ConfigurationText(keys_, all[i]))) {
        missing.push_back(i);
      }
    }
    known_ = all.size() - missing.size();
    total_ = all.size();
    started_ = Clock::now();
    ForEachInParallel(missing.size(), [&](std::size_t i) { Simulate(missing[i]); });
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
    return (fs::path(request_.directory) / kSweepRowsFile).string();
  }

  // Nothing but an earlier sweep may be there.
  Status CheckDirectory() const {
    const std::string& directory = request_.directory;
    std::error_code error;
    const PathKind kind = FindPathKind(directory);
    if (kind == PathKind::kMissing || kind == PathKind::kSweep ||
        (fs::is_directory(directory, error) && fs::is_empty(directory, error))) {
      return {};
    }
    return UsageError(fmt::format(
        "{} {}; a sweep replaces a sweep only: choose another -o, or remove it yourself",
        ShownText(directory),
        kind == PathKind::kOther ? std::string("holds no sweep")
                                 : fmt::format("is {}", Name(kind))));
  }

  // Of an earlier sweep with the same settings, its rows; a last line that is not whole is left
  // out.
  Status OpenRows() {
    std::error_code error;
    const bool there = fs::exists(RowsPath(), error);
    // An earlier sweep is continued or replaced; other files are not.
    REPRISE_TRY(CheckDirectory());
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
    for (const char* const name : {kTableFile, kSweepTableFile, kPageFile, kFiguresFile}) {
      if (request_.force) {  // where this sweep is ended early, they would be the old one's
        fs::remove(fs::path(request_.directory) / name, error);
      }
    }
    // What is known is written again: a line that was cut off must not spoil the next one.
    file_.open(RowsPath(), std::ios::trunc);
    file_ << header.dump() << "\n";
    for (const auto& [text, row] : done_) {
      file_ << row.dump() << "\n";
    }
    file_.flush();
    return file_ ? Status{} : EnvironmentError(fmt::format("{}: cannot be written", RowsPath()));
  }

  Result<Workload> JobOf(std::size_t i) const {
    if (request_.grid != nullptr) {
      REPRISE_TRY(CheckWorkload(sweep_.rows[i]->workload));
      return sweep_.rows[i]->workload;
    }
    WorkloadFlags flags = request_.workload;
    for (std::size_t k = 0; k < keys_.size(); ++k) {
      REPRISE_TRY(SetWorkloadOption(keys_[k].name, sweep_.configurations[i][k], flags));
    }
    return MakeWorkload(flags);
  }

  Result<JobRow> Predict(std::size_t i, JobRow& row) const {
    REPRISE_ASSIGN(const Workload workload, JobOf(i));
    row.update(DescribeLayout(workload));
    REPRISE_ASSIGN(const GeneratedJob job, GenerateFoldedJob(workload, false));
    SimulatedSet simulated = *request_.machine;
    simulated.job = FactsOf(workload, job.summary);
    const TraceSet set{.name = job.folded.classes->SetName(), .classes = job.folded.classes};
    REPRISE_TRY(simulated.RunFolded({}, set, job.folded, request_.fold));
    row["tokens"] = simulated.job->tokens;
    row["samples"] = simulated.job->samples;
    REPRISE_ASSIGN(JobRow prediction, simulated.ToJson({}));
    const JobRow& joules = prediction.at("energy_joules");
    if (simulated.job->tokens > 0 && joules.is_number()) {
      row["tokens_per_joule"] = static_cast<double>(simulated.job->tokens) / joules.get<double>();
    }
    row.update(simulated.power.RowJson());
    return prediction;
  }

  void Simulate(std::size_t i) {
    const Configuration& configuration = sweep_.configurations[i];
    JobRow row = {{"configuration", ConfigurationText(keys_, configuration)}};
    for (std::size_t k = 0; k < keys_.size(); ++k) {
      row[keys_[k].name] = configuration[k];
    }
    const Result<JobRow> prediction = Predict(i, row);
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
    file_.flush();  // an interrupted sweep continues from here
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
    const std::string what = request_.grid != nullptr
                                 ? request_.grid->name
                                 : fs::path(request_.workload.what).stem().string();
    SweepTable table{.title = fmt::format("{} on {}", what, request_.machine->options.to->name),
                     .rank_by = request_.flags.rank_by};
    table.within = request_.grid != nullptr ? "model" : "";
    for (const SweepKey& key : keys_) {
      table.keys.push_back(key.name);
    }
    const bool none =
        std::ranges::none_of(rows, [](const JobRow& row) { return row.value("possible", false); });
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
    REPRISE_TRY(write(kTableFile, [&rows](std::ostream& out) { WriteCsv(rows, out); }));
    REPRISE_TRY(write(kSweepTableFile, [&text](std::ostream& out) { out << text << "\n"; }));
    REPRISE_TRY(write(kPageFile, [&](std::ostream& out) { out << SweepPage(table, rows); }));
    std::string figures;
    if (request_.grid != nullptr) {
      REPRISE_ASSIGN(const std::string data, SweepFiguresJson(table.title, rows));
      REPRISE_TRY(write(kFiguresFile, [&data](std::ostream& out) {
        out << HtmlPage(data, PageKind::kComparison);
      }));
      figures = fmt::format("figures {}, ", (directory / kFiguresFile).string());
    }
    if (request_.json || request_.quiet) {
      fmt::print("{}", request_.json ? text + "\n" : "");
      return {};
    }
    fmt::print("{}\n{}page {}, table {}\n", SweepText(table, rows), figures,
               (directory / kPageFile).string(), (directory / kTableFile).string());
    return {};
  }

  const JobSweepRequest& request_;
  std::vector<SweepKey> keys_;
  GridSweep sweep_;  // its rows: of a grid only
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
                 "page. Of a grid: only rows with these values of model, layout, setting, "
                 "micro-batch. Lists are joined by +, flags are on or off")
      ->take_all()
      ->allow_extra_args(false)
      ->group(kGroup);
  app.add_option("--rank-by", flags.rank_by, "of a sweep: time, energy or memory (default: time)")
      ->check(CLI::IsMember({"time", "energy", "memory"}))
      ->group(kGroup);
}

Status RunJobSweep(const JobSweepRequest& request) {
  // Thousands of jobs are made and dropped: memory that goes back to the system each time would
  // come back page by page.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, 64 << 20);
  if (request.grid != nullptr) {
    REPRISE_ASSIGN(GridSweep rows, RowsOfGrid(*request.grid, request.flags.keys));
    return JobSweep(request, std::move(rows)).Run();
  }
  GridSweep sweep;
  REPRISE_ASSIGN(sweep.keys, ParseSweepKeys(request.flags.keys));
  REPRISE_ASSIGN([[maybe_unused]] const Workload known, ReadWorkload(request.workload.what));
  REPRISE_TRY(CheckSweptOptions(sweep.keys, request.workload));
  REPRISE_ASSIGN(sweep.configurations, AllConfigurations(sweep.keys));
  return JobSweep(request, std::move(sweep)).Run();
}

}  // namespace reprise
