#include "predict/sweep/run.h"

#include <fmt/format.h>
#include <malloc.h>

#include <climits>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "core/json_fields.h"
#include "core/parallel.h"
#include "core/parse_json.h"
#include "et_schema/output_file.h"
#include "predict/sweep/figures.h"
#include "report/page/html.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

class SweepRun {
 public:
  explicit SweepRun(const SweepRequest& request) : request_(request), sweep_(*request.sweep) {}

  Result<SweepTable> Run() {
    REPRISE_TRY(OpenRows());
    std::vector<std::size_t> missing;
    for (std::size_t i = 0; i < sweep_.jobs.size(); ++i) {
      if (!done_.contains(TextOf(i))) {
        missing.push_back(i);
      }
    }
    progress_.of = sweep_.jobs.size();
    progress_.known = progress_.of - missing.size();
    ForEachInParallel(missing.size(), [&](std::size_t i) { Simulate(missing[i]); });
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

  // Of an earlier sweep with the same settings, its rows; a last line that is not whole is left
  // out.
  Status OpenRows() {
    std::error_code error;
    const Json header = {
        {"format", "reprise-sweep"}, {"version", 2}, {"settings", request_.settings}};
    if (fs::exists(RowsPath(), error) && !request_.force) {
      std::ifstream in(RowsPath());
      std::string line;
      std::getline(in, line);
      if (ParseJson<Json>(line, false) != header) {
        return UsageError(fmt::format(
            "{} holds a sweep of another job, machine or version of reprise; give another "
            "directory, or --force to replace it",
            request_.directory));
      }
      while (std::getline(in, line)) {
        if (Result<SweepRow> row =
                ParseRow(sweep_.keys, ParseJson<Json>(line, false), RowsPath())) {
          std::string text = ConfigurationText(sweep_.keys, row->values);
          done_.insert_or_assign(std::move(text), std::move(*row));
        }
      }
    }
    fs::create_directories(request_.directory, error);
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
    file_ << RowJson(sweep_.keys, row).dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
    file_.flush();  // an interrupted sweep continues from here
  }

  Result<Prediction> Predict(std::size_t i, SweepRow& row) const {
    REPRISE_ASSIGN(const Workload workload, MakeJob(sweep_.jobs[i].options));
    DescribeJob(workload, row);
    return PredictJob(*request_.machine, workload, {});
  }

  void Simulate(std::size_t i) {
    SweepRow row = {.values = sweep_.jobs[i].values};
    const Result<Prediction> prediction = Predict(i, row);
    if (prediction) {
      TakePrediction(*prediction, row);
    } else {
      row.reason = prediction.error().message;
    }
    const std::lock_guard lock(mutex_);
    if (!prediction && prediction.error().kind == ErrorKind::kEnvironment) {
      status_ = status_ ? Status(tl::unexpected<Error>(prediction.error())) : status_;
      return;
    }
    Place(i, row);
    WriteRow(row);
    ++progress_.simulated;
    progress_.cannot_be += prediction ? 0 : 1;
    done_.insert_or_assign(TextOf(i), std::move(row));
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
  std::ofstream file_;
  std::map<std::string, SweepRow> done_;  // by configuration
  SweepProgress progress_;
  std::mutex mutex_;
  Status status_;
};

}  // namespace

Result<SweepTable> RunSweep(const SweepRequest& request) {
  REPRISE_TRY(request.machine->CheckWithoutTimes(/*job=*/true));
  // Thousands of jobs are made and dropped: memory that goes back to the system each time would
  // come back page by page.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, 64 << 20);
  return SweepRun(request).Run();
}

}  // namespace reprise
