// The order of a stage's passes. One file and one line of workload/schedules.def each.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "workload/description.h"
#include "workload/registry.h"

namespace reprise {

// A pass of one micro-batch through one of the stage's chunks of layers.
struct Pass {
  bool forward = true;
  std::int64_t chunk = 0;  // of the stage: 0 … virtual stages − 1
  std::int64_t batch = 0;
  bool operator==(const Pass&) const = default;
};

class PipelineSchedule {
 public:
  virtual ~PipelineSchedule() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string_view help() const = 0;
  // Bad input: the rule that is broken and what works. Here: that a stage has one chunk of layers.
  [[nodiscard]] virtual Status Check(const Workload& workload) const;
  // Every chunk's forward pass of every micro-batch once, and its backward pass after it.
  [[nodiscard]] virtual std::vector<Pass> PassesOf(std::int64_t stage, std::int64_t stages,
                                                   std::int64_t batches,
                                                   std::int64_t chunks) const = 0;

 protected:
  // `total` passes of each direction: the k-th backward pass is after the (k + ahead)-th forward
  // pass, or after all. `pass_of` knows the k-th of a direction.
  template <typename PassOf>
  [[nodiscard]] static std::vector<Pass> ByTurns(std::int64_t total, std::int64_t ahead,
                                                 const PassOf& pass_of) {
    std::vector<Pass> passes;
    for (std::int64_t i = 0; i < total + ahead; ++i) {
      if (i < total) {
        passes.push_back(pass_of(true, i));
      }
      if (i >= ahead) {
        passes.push_back(pass_of(false, i - ahead));
      }
    }
    return passes;
  }
  [[nodiscard]] static std::vector<Pass> ByTurns(std::int64_t batches, std::int64_t ahead) {
    return ByTurns(batches, ahead, [](bool forward, std::int64_t k) {
      return Pass{forward, 0, k};
    });
  }
};

[[nodiscard]] const KindRegistry<PipelineSchedule>& BuiltinSchedules();
// Null: none of that name.
[[nodiscard]] const PipelineSchedule* FindSchedule(std::string_view name);
#define SCHEDULE(name) [[nodiscard]] std::unique_ptr<PipelineSchedule> Make##name();
#include "workload/schedules.def"
#undef SCHEDULE

}  // namespace reprise
