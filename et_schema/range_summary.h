// The marked ranges of a trace, by name: how often, how long, on how many ranks.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "et_schema/node.h"

namespace reprise {

struct RangeRow {
  std::string name;
  std::uint64_t count = 0;
  std::uint64_t ranks = 0;
  std::int64_t median_ns = 0;
  std::int64_t total_ns = 0;
};

class RangeSummary {
 public:
  void Add(const TraceMetadata& metadata);           // once for each rank
  [[nodiscard]] std::vector<RangeRow> Rows() const;  // most time first
  [[nodiscard]] nlohmann::ordered_json ToJson() const;

 private:
  struct Entry {
    std::vector<std::int64_t> durations_ns;
    std::uint64_t ranks = 0;
    std::int32_t last_rank = -1;
  };
  std::map<std::string, Entry> entries_;
};

}  // namespace reprise
