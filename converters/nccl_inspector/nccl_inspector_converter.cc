// NCCL's Inspector: JSON objects of completed transfers, one file a process.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "converters/converter.h"
#include "converters/nccl_inspector/inspector_file.h"
#include "converters/nccl_inspector/inspector_ranks.h"
#include "converters/recorded_transfers/recorder_files.h"
#include "converters/recorded_transfers/transfer_set.h"

namespace reprise {
namespace nccl_inspector {
namespace {

Result<ConvertReport> ConvertInspector(const ConvertRequest& request) {
  REPRISE_ASSIGN(const std::vector<std::string> paths,
                 recorded_transfers::FindFiles(
                     request, &LooksLikeInspector,
                     "files of NCCL's Inspector, one a process (<host>-pid<number>.log)"));
  std::vector<InspectorFile> files;
  for (const std::string& path : paths) {
    REPRISE_ASSIGN(const TextFile text, TextFile::Read(path));
    REPRISE_ASSIGN(std::vector<InspectorFile> of_processes, ReadInspectorFile(text));
    std::ranges::move(of_processes, std::back_inserter(files));
  }
  REPRISE_ASSIGN(std::vector<recorded_transfers::RecordedRank> ranks,
                 RanksOf(files, !request.input_directory.empty()));
  if (!request.input_file.empty() && request.rank >= 0 && ranks.size() == 1) {
    ranks.front().rank = request.rank;
  }
  return recorded_transfers::WriteTransferSet(request, std::move(ranks));
}

bool LooksLikeInspectorFiles(const std::string& path) {
  return recorded_transfers::LooksLike(path, &LooksLikeInspector);
}

}  // namespace
}  // namespace nccl_inspector

ConverterKind NcclInspectorConverter() {
  return {.name = "nccl_inspector",
          .help = "NCCL's Inspector: its JSON files of completed transfers, one a process",
          .sniff = &nccl_inspector::LooksLikeInspectorFiles,
          .convert = &nccl_inspector::ConvertInspector};
}

}  // namespace reprise
