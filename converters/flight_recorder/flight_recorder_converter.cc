// PyTorch's flight recorder (the NCCL trace buffer): dumps of all ranks, or of one.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "converters/converter.h"
#include "converters/flight_recorder/dump.h"
#include "converters/flight_recorder/dump_transfers.h"
#include "converters/pytorch/files/file_ranks.h"
#include "converters/recorded_transfers/recorder_files.h"
#include "converters/recorded_transfers/transfer_set.h"

namespace reprise {
namespace flight_recorder {
namespace {

namespace fs = std::filesystem;

struct ReadFile {
  std::string path;
  Dump dump;
  Diagnostics diagnostics;
};

// Of what all ranks' files of one job share.
Status CheckOneVersion(const std::vector<ReadFile>& files) {
  for (const ReadFile& file : files) {
    const ReadFile& first = files.front();
    const auto differs = [&](std::string_view what, const std::string& of_first,
                             const std::string& of_file) -> Status {
      return of_first == of_file || of_first.empty() || of_file.empty()
                 ? Status()
                 : BadInput(fmt::format("{} and {}: of two jobs: {} {} and {}; give the files of "
                                        "one job",
                                        first.path, file.path, what, of_first, of_file));
    };
    REPRISE_TRY(differs("the dump's version is", first.dump.version, file.dump.version));
    REPRISE_TRY(differs("the communication library's version is", first.dump.library_version,
                        file.dump.library_version));
  }
  return {};
}

// By content, else by name.
Status SetRanks(const ConvertRequest& request, std::vector<ReadFile>& files) {
  if (!request.input_file.empty() && request.rank >= 0) {
    files.front().dump.rank = request.rank;
    return {};
  }
  std::vector<pytorch::CapturedFile> named;
  for (const ReadFile& file : files) {
    pytorch::CapturedFile& of = named.emplace_back();
    of.path = file.path;
    of.name = fs::path(file.path).filename().string();
    of.head.kind = pytorch::CaptureKind::kKineto;  // any one kind: names of a kind are compared
    of.head.rank = file.dump.rank;
  }
  REPRISE_TRY(pytorch::FindRanks(
      request.input_directory.empty() ? request.input_file : request.input_directory, named,
      request.rank_pattern));
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i].dump.rank = named[i].rank;
  }
  return {};
}

Result<ConvertReport> ConvertFlightRecorder(const ConvertRequest& request) {
  REPRISE_ASSIGN(const std::vector<std::string> paths,
                 recorded_transfers::FindFiles(
                     request, &LooksLikeDump,
                     "dumps of PyTorch's flight recorder, one a rank (nccl_trace_rank_0, …)"));
  std::vector<ReadFile> files;
  for (const std::string& path : paths) {
    REPRISE_ASSIGN(const TextFile text, TextFile::Read(path));
    ReadFile& file = files.emplace_back();
    file.path = path;
    REPRISE_ASSIGN(file.dump, ReadDump(text, file.diagnostics));
  }
  REPRISE_TRY(CheckOneVersion(files));
  REPRISE_TRY(SetRanks(request, files));
  std::vector<recorded_transfers::RecordedRank> ranks;
  for (const ReadFile& file : files) {
    ranks.push_back(TransfersOf(file.dump, file.path));
    ranks.back().diagnostics.Merge(file.diagnostics);
  }
  return recorded_transfers::WriteTransferSet(request, std::move(ranks));
}

bool LooksLikeFlightRecorder(const std::string& path) {
  return recorded_transfers::LooksLike(path, &LooksLikeDump);
}

}  // namespace
}  // namespace flight_recorder

ConverterKind FlightRecorderConverter() {
  return {.name = "flight_recorder",
          .help = "PyTorch's flight recorder: dumps of its NCCL trace buffer, pickle or JSON",
          .sniff = &flight_recorder::LooksLikeFlightRecorder,
          .convert = &flight_recorder::ConvertFlightRecorder};
}

}  // namespace reprise
