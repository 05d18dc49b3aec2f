#include "workload/job/grid.h"

#include <fmt/format.h>

#include "core/nearest.h"
#include "workload/job/parse.h"

namespace reprise {
namespace {

struct GridLayout {
  std::int64_t ep, tp, pp;
  bool fsdp = false;
};
struct GridModel {
  std::string_view preset;
  std::int64_t sequence;
  std::vector<GridLayout> h200, h100;
};

// CharLLM-PPT (arXiv 2509.10371): layouts as in its repository, sitar-lab/CharLLM-PPT. bfloat16,
// global batch 128, no interleaving. It fixes neither sequence parallelism nor the optimizer's
// division: both are on where they can be.
const std::vector<GridModel>& CharLlmModels() {
  static const std::vector<GridModel> models = {
      {"gpt3-175b",
       2048,
       {{1, 1, 32}, {1, 2, 16}, {1, 4, 8}, {1, 8, 4}, {1, 8, 1, true}},
       {{1, 2, 32}, {1, 4, 16}, {1, 8, 8}}},
      {"llama3-70b",
       8192,
       {{1, 1, 16}, {1, 2, 8}, {1, 4, 4}, {1, 8, 2}, {1, 8, 1, true}},
       {{1, 1, 32}, {1, 2, 16}, {1, 4, 8}, {1, 8, 4}}},
      {"mixtral-8x7b", 4096, {{8, 1, 1}, {4, 2, 1}}, {{8, 1, 2}, {4, 4, 1}, {4, 2, 2}, {4, 1, 4}}},
      {"mixtral-8x22b",
       4096,
       {{8, 1, 4}, {8, 2, 2}, {8, 4, 1}},
       {{8, 8, 1}, {8, 4, 2}, {8, 2, 4}, {8, 1, 8}}},
  };
  return models;
}

constexpr std::int64_t kGridBatch = 128;

Result<Workload> RowWorkload(const GridModel& model, const GridLayout& layout, std::int64_t ranks) {
  REPRISE_ASSIGN(Workload w, ReadWorkload(std::string(model.preset)));
  w.model.sequence = model.sequence;
  w.model.dtype = DType::kBFloat16;
  w.layout = {.tp = layout.tp, .pp = layout.pp, .ep = layout.ep, .fsdp = layout.fsdp};
  w.layout.dp = ranks / (layout.tp * layout.pp);
  w.layout.sequence_parallel = layout.tp > 1;
  w.layout.distributed_optimizer = !layout.fsdp && w.layout.dp > 1;
  if (layout.fsdp) {
    w.model.tied_embeddings = w.model.tied_embeddings && layout.pp == 1;
  }
  w.global_batch = kGridBatch;
  w.schedule = "1f1b";
  w.virtual_stages = 1;
  w.overlap = {};
  w.recompute = Recompute::kNone;
  return w;
}

}  // namespace

Result<Grid> MakeGrid(const std::string& name, const std::string& hardware) {
  if (name != "charllm") {
    return UsageError(fmt::format("no grid is called {}{}; there is charllm", name,
                                  DidYouMean(name, {"charllm"})));
  }
  // Memory as their datasheets have it.
  const std::vector<GridHardware> known = {{"h200x32", 32, 141'000'000'000, "h200-study"},
                                           {"h100x64", 64, 80'000'000'000, "h100-study"}};
  Grid grid;
  grid.name = name;
  for (const GridHardware& one : known) {
    if (one.name == hardware) {
      grid.hardware = one;
    }
  }
  if (grid.hardware.ranks == 0) {
    return UsageError(fmt::format("--hardware {}: expected h200x32 or h100x64{}", hardware,
                                  DidYouMean(hardware, {"h200x32", "h100x64"})));
  }
  for (const GridModel& model : CharLlmModels()) {
    for (const GridLayout& layout : grid.hardware.ranks == 32 ? model.h200 : model.h100) {
      for (const bool overlap : {false, true}) {
        for (const bool again : {false, true}) {
          for (const std::int64_t micro : {1, 2, 4, 8}) {
            GridRow row;
            row.setting = overlap ? (again ? "cc+act" : "cc") : (again ? "act" : "base");
            REPRISE_ASSIGN(row.workload, RowWorkload(model, layout, grid.hardware.ranks));
            row.model = model.preset;
            row.layout =
                fmt::format("{}tp{}-{}", layout.ep > 1 ? fmt::format("ep{}-", layout.ep) : "",
                            layout.tp, layout.fsdp ? "fsdp" : fmt::format("pp{}", layout.pp));
            row.name = fmt::format("{}_{}_{}_mb{}", row.model, row.layout, row.setting, micro);
            row.workload.name = row.name;
            row.workload.micro_batch = micro;
            // The study's "cc" of Mixtral is tensor parallelism's alone.
            const bool dense = row.workload.model.experts == 0;
            row.workload.overlap = {overlap, overlap && dense, overlap && dense};
            row.workload.recompute = again ? Recompute::kFull : Recompute::kNone;
            CompleteWorkload(row.workload);
            grid.rows.push_back(std::move(row));
          }
        }
      }
    }
  }
  return grid;
}

}  // namespace reprise
