// Counts the transfers of a trace set by kind, with their bytes: count_transfers DIRECTORY
#include <cstdint>
#include <iostream>
#include <map>
#include <string>

#include "reprise/core/comm.h"
#include "reprise/et_schema/io.h"
#include "reprise/et_schema/trace_set.h"

namespace {

struct Sum {
  std::uint64_t transfers = 0;
  std::uint64_t of_unknown_size = 0;  // add nothing to in_bytes
  std::int64_t in_bytes = 0;
};

reprise::Result<std::map<std::string, Sum>> CountTransfers(const std::string& directory) {
  REPRISE_ASSIGN(const reprise::TraceSet set, reprise::TraceSet::Open(directory));
  std::map<std::string, Sum> sums;
  for (const std::int32_t rank : set.Ranks()) {
    REPRISE_ASSIGN(const auto reader, reprise::EtReader::Open(set.RankPath(rank)));
    for (reprise::Node node;;) {
      REPRISE_ASSIGN(const bool more, reader->Next(node));
      if (!more) {
        break;
      }
      if (node.comm) {
        Sum& sum = sums[std::string(reprise::Name(node.comm->kind))];
        ++sum.transfers;
        if (node.comm->bytes_known) {
          sum.in_bytes += node.comm->in_bytes;
        } else {
          ++sum.of_unknown_size;
        }
      }
    }
  }
  return sums;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "count_transfers DIRECTORY\n";
    return 2;
  }
  const auto sums = CountTransfers(argv[1]);
  if (!sums) {
    std::cerr << sums.error().message << "\n";
    return static_cast<int>(sums.error().kind);
  }
  for (const auto& [kind, sum] : *sums) {
    std::cout << kind << ": " << sum.transfers << " transfers, " << sum.in_bytes << " bytes in, "
              << sum.of_unknown_size << " of unknown size\n";
  }
}
