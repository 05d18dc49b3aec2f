#include "converters/pytorch/rocprof/rocprof_records.h"

#include <simdjson.h>

#include <algorithm>
#include <array>

#include "converters/json_members.h"
#include "core/text.h"

namespace reprise::pytorch {

bool IsUsedArgument(std::string_view name) {
  return std::ranges::find(kUsedArguments, name) != kUsedArguments.end();
}

void SetRank(std::string_view environment, RocprofProcess& process) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(simdjson::padded_string(environment)).get(root) != simdjson::SUCCESS) {
    return;
  }
  const auto number = [&root](const char* name) -> std::int32_t {
    return ParseNumber<std::int32_t>(TextOr(root[name])).value_or(-1);
  };
  // torchrun's, and those of launchers of MPI. One process alone says nothing of others.
  constexpr std::array<std::pair<const char*, const char*>, 4> kNames = {
      {{"RANK", "WORLD_SIZE"},
       {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
       {"PMI_RANK", "PMI_SIZE"},
       {"SLURM_PROCID", "SLURM_NTASKS"}}};
  for (const auto& [rank_name, size_name] : kNames) {
    const std::int32_t rank = number(rank_name);
    const std::int32_t size = number(size_name);
    if (rank >= 0 && rank < size && size > 1) {
      process.rank = rank;
      process.world_size = size;
      return;
    }
  }
}

}  // namespace reprise::pytorch
