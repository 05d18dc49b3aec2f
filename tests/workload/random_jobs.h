// Jobs drawn at random, for tests against closed forms.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>

#include "predict/workload/description.h"
#include "predict/workload/job/generate.h"
#include "predict/workload/job/parse.h"

namespace reprise {

class RandomJobs {
 public:
  explicit RandomJobs(std::uint32_t seed) : random_(seed) {}

  std::int64_t OneOf(std::initializer_list<std::int64_t> numbers) {
    return *(numbers.begin() + static_cast<std::ptrdiff_t>(random_() % numbers.size()));
  }
  // Of a small model with these fields, a layout and batches.
  Workload Of(const std::string& model) {
    Workload w = *ParseWorkload(
        R"({"model": {"layers": 4, "hidden": 128, "heads": 8, "ffn": 256, "vocab": 512,
            "sequence": 64, )" +
            model + "}}",
        "test");
    w.model.dtype = OneOf({0, 1}) == 0 ? DType::kFloat32 : DType::kBFloat16;
    Layout& l = w.layout;
    l.tp = OneOf({1, 2, 4});
    l.pp = OneOf({1, 2});
    l.dp = OneOf({1, 2, 4});
    l.ep = w.model.experts > 0 ? OneOf({1, 2, 4}) : 1;
    l.fsdp = OneOf({0, 0, 1}) == 1 && l.tp == 1;  // shards are equal
    l.distributed_optimizer = !l.fsdp && OneOf({0, 1}) == 1;
    l.divided_gradients = l.distributed_optimizer && OneOf({0, 1}) == 1;
    l.sequence_parallel = l.tp > 1 && OneOf({0, 1}) == 1;
    w.micro_batch = OneOf({1, 2});
    w.global_batch = w.micro_batch * l.dp * OneOf({1, 2});
    return w;
  }
  // Nothing, some of these modules of each layer, or everything.
  void DrawRecomputation(Workload& w, std::initializer_list<const char*> modules) {
    w.recompute = std::array{Recompute::kNone, Recompute::kSelective,
                             Recompute::kFull}[static_cast<std::size_t>(OneOf({0, 1, 1, 2}))];
    for (const char* module : modules) {
      if (w.recompute == Recompute::kSelective && OneOf({0, 1}) == 1) {
        w.recompute_modules.emplace_back(module);
      }
    }
  }

  // The first of `draw` that breaks no rule.
  template <typename Draw>
  [[nodiscard]] static Workload Sound(const Draw& draw) {
    Workload w = draw();
    while (!CheckWorkload(w)) {
      w = draw();
    }
    return w;
  }

 private:
  std::mt19937 random_;
};

}  // namespace reprise
