// The process groups of a text workload's transfers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "converters/astra_text/workload.h"
#include "core/result.h"
#include "et_schema/trace_set.h"

namespace reprise::astra_text {

[[nodiscard]] std::string_view ScopeName(Scope scope);  // "world", "model", …

class Groups {
 public:
  // Bad input, naming the file, unless the parallel degrees divide the number of ranks, or where a
  // transfer of experts has none. Without a model-parallel degree all transfers are of all ranks.
  static Result<Groups> Create(const std::string& path, const Workload& workload,
                               std::int32_t ranks);

  [[nodiscard]] std::int64_t SizeOf(Scope scope) const;
  // Of the rank's group: "0" is all ranks, the others count from 1.
  [[nodiscard]] std::string IdOf(Scope scope, std::int32_t rank) const;
  [[nodiscard]] std::string IdOf(std::string_view scope_name, std::int32_t rank) const;
  // Those of more than one rank, and "0".
  [[nodiscard]] std::map<std::string, ProcessGroup> All() const;

 private:
  // Which of a scope's groups, counted from 0.
  [[nodiscard]] std::int64_t NumberOf(Scope scope, std::int32_t rank) const;

  std::int64_t ranks_ = 1;
  std::int64_t stage_ = 1;   // ranks of a pipeline's stage, in a row
  std::int64_t model_ = 0;   // 0: every scope is the world
  std::int64_t expert_ = 1;  // divides stage_ / model_
};

}  // namespace reprise::astra_text
