// Rules that every workload keeps.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/counted.h"
#include "core/input_file.h"
#include "predict/workload/families/family.h"
#include "predict/workload/job/generate.h"
#include "predict/workload/parallel/parallelism.h"
#include "predict/workload/registry.h"
#include "predict/workload/schedule.h"

namespace reprise {
namespace {

// Shapes multiply to fewer than 2^62 elements if every size is below this.
constexpr std::int64_t kMaxSize = std::int64_t{1} << 31;
constexpr std::int64_t kMaxPasses = 1'000'000;

Status InRange(std::string_view what, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) {
    return {};
  }
  return BadInput(fmt::format("\"{}\" is {}; expected {} to {}", what, value, least, most));
}

Status WithinLimit(const std::string& what, std::int64_t count, std::uint64_t most,
                   std::string_view limit) {
  return static_cast<std::uint64_t>(count) <= most
             ? Status{}
             : BadInput(fmt::format("{}: {}; at most {} without --limits {}=…", what, count, most,
                                    limit));
}

// What a few digits ask for. All sizes are at most kMaxSize.
Status CheckCounts(const Workload& w) {
  const InputLimits& limits = CurrentInputLimits();
  REPRISE_TRY(WithinLimit("\"steps\"", w.steps, limits.steps, "steps"));
  REPRISE_TRY(WithinLimit("layers x experts",
                          w.model.layers * std::max<std::int64_t>(1, w.model.experts),
                          limits.layers, "layers"));
  REPRISE_TRY(WithinLimit("\"layout.pp\" x virtual stages", w.layout.pp * w.virtual_stages,
                          limits.layers, "layers"));
  std::int64_t ranks = 1;
  for (const std::int64_t size : {w.layout.tp, w.layout.cp, w.layout.dp, w.layout.pp}) {
    ranks *= size;  // both at most kMaxSize
    REPRISE_TRY(WithinLimit("\"tp\" x \"cp\" x \"dp\" x \"pp\"", ranks,
                            std::min<std::uint64_t>(limits.ranks, kMaxSize), "ranks"));
  }
  return {};
}

Status CheckSizes(const Workload& w) {
  const ModelShape& m = w.model;
  const Layout& l = w.layout;
  for (const ModelSize& size : kModelSizes) {
    const std::int64_t least = m.OfImages()         ? size.least_images
                               : m.family == "dlrm" ? size.least_dlrm
                                                    : size.least;
    REPRISE_TRY(InRange(size.name, m.*size.of, least, kMaxSize));
  }
  const std::pair<std::string_view, std::int64_t> sizes[] = {{"layout.tp", l.tp},
                                                             {"layout.pp", l.pp},
                                                             {"layout.dp", l.dp},
                                                             {"layout.ep", l.ep},
                                                             {"layout.cp", l.cp},
                                                             {"batch.global", w.global_batch},
                                                             {"batch.micro", w.micro_batch},
                                                             {"virtual stages", w.virtual_stages},
                                                             {"steps", w.steps}};
  for (const auto& [name, size] : sizes) {
    REPRISE_TRY(InRange(name, size, 1, kMaxSize));
  }
  REPRISE_TRY(InRange("layout.shards", l.shards, 0, kMaxSize));
  REPRISE_TRY(InRange("layout.etp", l.etp, 0, kMaxSize));
  REPRISE_TRY(InRange("recompute_layers", w.recompute_layers, 0, kMaxSize));
  for (const auto* list : {&m.tables, &m.bottom_mlp, &m.top_mlp}) {
    for (const std::int64_t size : *list) {
      REPRISE_TRY(InRange(list == &m.tables ? "tables" : "mlp", size, 1, kMaxSize));
    }
  }
  return CheckCounts(w);
}

// The largest tensors and sums must fit 64-bit sizes in bytes.
Status CheckOverflow(const Workload& w) {
  const ModelShape& m = w.model;
  const auto big = [](std::initializer_list<std::int64_t> factors) {
    double product = 8;
    for (const std::int64_t factor : factors) {
      product *= static_cast<double>(std::max<std::int64_t>(1, factor));
    }
    return product > static_cast<double>(std::int64_t{1} << 60);
  };
  if (big({w.micro_batch, m.sequence, m.hidden}) || big({w.micro_batch, m.sequence, m.vocab}) ||
      big({w.micro_batch, m.sequence, m.ffn, m.gated_ffn ? 2 : 1}) ||
      (!m.fused_attention && big({w.micro_batch, m.heads, m.sequence, m.sequence})) ||
      big({m.hidden, m.vocab}) || big({m.layers, m.hidden, m.hidden}) ||
      big({m.layers, m.hidden, m.ffn, m.experts}) || big({w.micro_batch, w.layout.dp, m.lookups})) {
    return BadInput(
        "a tensor of the model has more than 2^60 bytes: sizes in elements, not bytes; check "
        "\"hidden\", \"ffn\", \"vocab\", \"sequence\" and the micro-batch");
  }
  if (w.layout.dp > std::numeric_limits<std::int32_t>::max() / w.micro_batch) {
    return BadInput("data parallelism x micro-batch is beyond 2^31");
  }
  // FLOPs of a rank's step: forward, backward and everything computed again.
  const auto real = [](std::int64_t size) { return static_cast<double>(size); };
  const double layers = real(m.layers) / real(w.layout.pp);
  const double tokens = real(w.global_batch) / real(w.layout.dp) * real(m.sequence);
  const double width = real(m.heads) * real(m.head_size);
  const double products =
      layers * real(m.hidden) *
          (4 * width + 3 * real(m.ffn) * real(std::max<std::int64_t>(m.top_k, 1))) +
      real(m.hidden) * real(m.vocab);
  const double attention = layers * real(m.sequence) * width;
  constexpr double kAgain = 4;
  constexpr double kAttentionAgain = 5;
  if (tokens / real(w.layout.tp * w.layout.cp) *
          (2 * kAgain * products + 4 * kAttentionAgain * attention) >
      static_cast<double>(std::numeric_limits<std::int64_t>::max())) {
    return BadInput(
        "a rank's step has more than 2^63 FLOPs; check \"sequence\" and the batch, or use more "
        "ranks");
  }
  return {};
}

Status CheckStages(const Workload& w) {
  const std::vector<std::int64_t>& given = w.layout.layers_per_stage;
  const std::int64_t stages = w.layout.pp;
  if (given.empty()) {
    const std::int64_t chunks = stages * w.virtual_stages;
    if (w.model.layers % chunks != 0) {
      return BadInput(
          fmt::format("{} among {}{}, and \"layers_per_stage\" is not given",
                      w.model.layers == 1 ? "1 layer does not divide"
                                          : fmt::format("{} layers do not divide", w.model.layers),
                      Counted(chunks, "stage"), w.virtual_stages > 1 ? " (virtual ones)" : ""));
    }
    return {};
  }
  if (static_cast<std::int64_t>(given.size()) != stages * w.virtual_stages &&
      static_cast<std::int64_t>(given.size()) != stages) {
    return BadInput(fmt::format("\"layers_per_stage\" has {}; expected {}, one a stage{}",
                                Counted(given.size(), "number"), stages,
                                w.virtual_stages > 1 ? fmt::format(", or {}, one a virtual stage",
                                                                   stages * w.virtual_stages)
                                                     : ""));
  }
  std::int64_t sum = 0;
  for (const std::int64_t layers : given) {
    REPRISE_TRY(InRange("layers_per_stage", layers, 0, kMaxSize));
    sum += layers;
    if (static_cast<std::int64_t>(given.size()) == stages && layers % w.virtual_stages != 0) {
      return BadInput(
          fmt::format("a stage of {} does not divide into {} chunks; give "
                      "\"layers_per_stage\" for all {} virtual stages",
                      Counted(layers, "layer"), w.virtual_stages, stages * w.virtual_stages));
    }
  }
  if (sum != w.model.layers) {
    return BadInput(fmt::format("\"layers_per_stage\" adds up to {}; the model has {}", sum,
                                Counted(w.model.layers, "layer")));
  }
  return {};
}

// What other models would leave out.
Status CheckLanguageOnly(const ModelShape& m) {
  if (m.tables.empty() && m.patch == 0) {
    return {};
  }
  for (const auto& [name, given] :
       {std::pair("window", m.window > 0), std::pair("kv_rank", m.kv_rank > 0),
        std::pair("mtp_layers", m.mtp_layers > 0), std::pair("positions", m.positions > 0),
        std::pair("embedding_norm", m.embedding_norm), std::pair("alibi", m.alibi),
        std::pair("sinks", m.sinks)}) {
    if (given) {
      return BadInput(
          fmt::format("\"{}\" is of language models, and the family is {}", name, m.family));
    }
  }
  return {};
}

// Documents that are packed in a sequence.
Status CheckDocuments(const Workload& w) {
  const ModelShape& m = w.model;
  REPRISE_TRY(InRange("document_length", w.document_length, 0, kMaxSize));
  if (w.documents.empty()) {
    return {};
  }
  if (w.documents.size() > CurrentInputLimits().layers) {
    return BadInput(fmt::format("{} in a sequence; at most {} without --limits layers=…",
                                Counted(w.documents.size(), "document"),
                                CurrentInputLimits().layers));
  }
  if (!m.tables.empty() || m.patch > 0) {
    return BadInput(
        fmt::format("\"documents\" are of language models, and the family is {}", m.family));
  }
  std::int64_t sum = 0;
  for (const std::int64_t tokens : w.documents) {
    REPRISE_TRY(InRange("documents", tokens, 1, kMaxSize));
    sum += tokens;
    if (sum > m.sequence) {
      break;
    }
  }
  if (sum != m.sequence) {
    return BadInput(fmt::format("\"documents\" add up to {}{} tokens; a sequence has {}", sum,
                                sum > m.sequence ? " or more" : "", m.sequence));
  }
  if (w.micro_batch != 1) {
    return BadInput(fmt::format(
        "\"documents\" are packed in one sequence: micro-batches of 1, not {}", w.micro_batch));
  }
  if (!m.fused_attention || m.sinks || m.LatentAttention()) {
    return BadInput(
        fmt::format("attention of \"documents\" is fused, with equal sizes of keys and "
                    "values; {} is not known of it",
                    !m.fused_attention ? "\"fused_attention\": false"
                    : m.sinks          ? "\"sinks\""
                                       : "latent attention (\"kv_rank\")"));
  }
  if (w.layout.cp > 1 && w.layout.cp_comm_type != ContextComm::kAllToAll) {
    return BadInput(
        fmt::format("context parallelism by {} divides sequences into chunks, and \"documents\" "
                    "into parts of any length; \"cp_comm_type\" a2a leaves them whole",
                    Name(w.layout.cp_comm_type)));
  }
  return {};
}

// Parts of a layer that are computed again must be there.
Status CheckRecompute(const Workload& w) {
  if (w.recompute_layers > 0 && w.recompute != Recompute::kFull) {
    return BadInput("\"recompute_layers\" is of \"recompute\": \"full\"");
  }
  if (w.recompute_modules.empty()) {
    return {};
  }
  if (w.recompute != Recompute::kSelective) {
    return BadInput("\"recompute_modules\" is of \"recompute\": \"selective\"");
  }
  const ModelShape& m = w.model;
  bool dense = false;
  bool experts = false;
  for (std::int64_t layer = 0; layer < m.layers + m.mtp_layers; ++layer) {
    (m.HasExperts(layer) ? experts : dense) = true;
  }
  std::vector<std::string_view> known = {kCoreAttention};
  if (dense) {
    known.push_back(kDenseBlock);
  }
  if (experts) {
    known.push_back(kExpertBlock);
  }
  if (experts && m.shared_ffn > 0) {
    known.push_back(kSharedExperts);
  }
  for (const std::string& module : w.recompute_modules) {
    if (std::ranges::find(known, module) == known.end()) {
      return BadInput(
          fmt::format("\"recompute_modules\" has {}, which the model lacks; its layers have {}",
                      module, fmt::join(known, ", ")));
    }
  }
  if (w.Recomputes(kExpertBlock) && w.Recomputes(kSharedExperts)) {
    return BadInput(
        fmt::format("\"recompute_modules\" has {0} and {1}: {0} are all experts, leave {1} out",
                    kExpertBlock, kSharedExperts));
  }
  return {};
}

}  // namespace

bool Workload::Recomputes(std::string_view module) const {
  return recompute == Recompute::kSelective &&
         (recompute_modules.empty()
              ? module == kCoreAttention
              : std::ranges::find(recompute_modules, module) != recompute_modules.end());
}

std::string StackOf(const Workload& w) {
  const Layout& l = w.layout;
  if (!w.stack.empty()) {
    return w.stack;
  }
  if (w.device == "cpu") {
    return kNoStack;
  }
  if (!w.model.fused_attention) {
    return "deepspeed";
  }
  const bool divided = l.tp > 1 || l.pp > 1 || l.cp > 1 || l.experts_apart() || l.zero() == 1;
  return divided && !l.fsdp ? "megatron-te" : "torch-eager";
}

std::string KindOfModel(const ModelShape& m) {
  return !m.tables.empty() ? "recommendation"
         : m.patch > 0     ? "images"
         : m.experts > 0   ? "experts"
                           : "dense";
}

bool Workload::EndsOnOneStage() const { return layout.pp == 1 || FindSchedule(schedule)->v_shaped; }

bool Workload::DirectionsMeet() const {
  return layout.pp > 1 &&
         (FindSchedule(schedule)->v_shaped || (layout.pp == 2 && virtual_stages > 1));
}

std::vector<std::int64_t> Workload::LayersOfChunks() const {
  const auto chunks = static_cast<std::size_t>(layout.pp * virtual_stages);
  const std::vector<std::int64_t>& given = layout.layers_per_stage;
  if (given.size() == chunks && !given.empty()) {
    return given;
  }
  std::vector<std::int64_t> layers(chunks, model.layers / static_cast<std::int64_t>(chunks));
  for (std::size_t i = 0; !given.empty() && i < chunks; ++i) {
    const auto stage = static_cast<std::size_t>(StageOfChunk(*this, static_cast<std::int64_t>(i)));
    layers[i] = given[stage % given.size()] / virtual_stages;  // it may not be checked yet
  }
  return layers;
}

Status CheckWorkload(const Workload& w) {
  REPRISE_TRY(CheckName(BuiltinFamilies(), "model family", w.model.family));
  REPRISE_TRY(CheckName(BuiltinSchedules(), "schedule", w.schedule));
  REPRISE_TRY(CheckSizes(w));
  REPRISE_TRY(CheckOverflow(w));
  REPRISE_TRY(CheckLanguageOnly(w.model));
  REPRISE_TRY(FindFamily(w.model.family)->check(w));
  for (const Parallelism& parallelism : BuiltinParallelisms()) {
    REPRISE_TRY(parallelism.check(w));
  }
  REPRISE_TRY(CheckStages(w));
  REPRISE_TRY(CheckDocuments(w));
  REPRISE_TRY(CheckFp8(w));
  REPRISE_TRY(CheckRecompute(w));
  REPRISE_TRY(CheckLora(w));
  REPRISE_TRY(FindSchedule(w.schedule)->check(w));
  if (w.micro_batches() * w.virtual_stages > kMaxPasses) {
    return BadInput(fmt::format("{} a step; at most {} can be written",
                                Counted(w.micro_batches(), "micro-batch"),
                                kMaxPasses / w.virtual_stages));
  }
  return {};
}

}  // namespace reprise
