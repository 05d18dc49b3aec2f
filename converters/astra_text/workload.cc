#include "converters/astra_text/workload.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/text.h"

namespace reprise::astra_text {
namespace {

struct TypeRow {
  std::string_view word;
  Parallelism parallelism;
};
constexpr TypeRow kWorkloadTypes[] = {{"MICRO", Parallelism::kMicro},
                                      {"DATA", Parallelism::kData},
                                      {"MODEL", Parallelism::kModel},
                                      {"HYBRID_DATA_MODEL", Parallelism::kHybrid},
                                      {"HYBRID_MODEL_DATA", Parallelism::kHybrid},
                                      {"HYBRID_TRANSFORMER", Parallelism::kHybrid},
                                      {"HYBRID_TRANSFORMER_FWD_IN_BCKWD", Parallelism::kRecompute},
                                      {"HYBRID_CUSTOMIZED", Parallelism::kHybrid},
                                      {"HYBRID_DLRM", Parallelism::kDlrm},
                                      {"HYBRID_DLRM_ENHANCED", Parallelism::kDlrm},
                                      {"DISTRIBUTED_INFERENCE", Parallelism::kInference}};

std::optional<Parallelism> ParseParallelism(std::string_view word) {
  for (const TypeRow& row : kWorkloadTypes) {
    if (row.word == word) {
      return row.parallelism;
    }
  }
  return std::nullopt;
}

std::vector<std::string_view> Words(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r\f\v";
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(kSpace); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kSpace, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kSpace, end);
  }
  return words;
}

std::optional<std::int64_t> Number(std::string_view word) {
  return ParseNumber<std::int64_t>(word);
}

class Parser {
 public:
  explicit Parser(const TextFile& file) : file_(file), rest_(file.text()) {}

  Result<Workload> Run() {
    Workload out;
    REPRISE_TRY(ReadType(out));
    REPRISE_ASSIGN(const std::int64_t layers, ReadCount());
    while (NextLine()) {
      if (static_cast<std::int64_t>(out.layers.size()) == layers) {
        return Wrong(fmt::format("nothing after the {} layers that line 2 announces", layers));
      }
      REPRISE_TRY(ReadLayer(out.simai ? 1 : 1000, out.layers.emplace_back()));
    }
    if (static_cast<std::int64_t>(out.layers.size()) < layers) {
      return BadInput(fmt::format("{}: truncated: ends after {} of {} layers", file_.path(),
                                  out.layers.size(), layers));
    }
    REPRISE_TRY(MarkLayers(out));
    if (out.parallelism == Parallelism::kDlrm && out.last_bottom_layer >= layers) {
      return BadInput(fmt::format("{}: line 1: the last bottom layer is {}, there are {} layers",
                                  file_.path(), out.last_bottom_layer, layers));
    }
    return out;
  }

 private:
  // The next line that is not empty, as words.
  bool NextLine() {
    do {
      if (rest_.empty()) {
        words_.clear();
        return false;
      }
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      words_ = Words(rest_.substr(0, end));
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++line_;
    } while (words_.empty());
    return true;
  }

  tl::unexpected<Error> Wrong(std::string_view expected) const {
    return BadInput(fmt::format("{}: line {}: expected {}", file_.path(), line_, expected));
  }

  Status ReadType(Workload& out) {
    std::string known;
    for (const TypeRow& row : kWorkloadTypes) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", row.word);
    }
    const auto parallelism = NextLine() ? ParseParallelism(words_[0]) : std::nullopt;
    if (!parallelism) {
      return Wrong(fmt::format("a parallelism type that is known here ({})", known));
    }
    out.type = words_[0];
    out.parallelism = *parallelism;
    transformer_ = out.type.starts_with("HYBRID_TRANSFORMER");
    if (transformer_) {
      return ReadParameters(out);
    }
    if (out.parallelism != Parallelism::kDlrm) {
      return {};
    }
    for (std::size_t i = 1; i < words_.size() && out.last_bottom_layer < 0; ++i) {
      out.last_bottom_layer = Number(words_[i]).value_or(-1);
    }
    if (out.last_bottom_layer < 0) {
      return Wrong("the number of the last bottom layer after the type");
    }
    return {};
  }

  // "model_parallel_NPU_group: 8 checkpoints: 2 0 3 …": a name, a number, and after the counts of
  // checkpoints as many layers.
  Status ReadParameters(Workload& out) {
    for (std::size_t i = 1; i < words_.size(); ++i) {
      const std::string_view name = words_[i];
      const auto value = i + 1 < words_.size() ? Number(words_[i + 1]) : std::nullopt;
      const bool list = name == "checkpoints:" || name == "checkpoint_initiates:";
      const bool experts = name == "ep:" || name == "expert_parallel_npu_group:";
      const bool known = list || experts || name == "model_parallel_NPU_group:" || name == "pp:" ||
                         name == "all_gpus:";
      // Of SimAI's generators alone. pp_comm has a fraction where tensors are shared out.
      out.simai = out.simai || name == "all_gpus:" || name == "pp:" || name == "vpp:" ||
                  name == "ga:" || name == "pp_comm:" || name == "expert_parallel_npu_group:";
      const std::int64_t number = value.value_or(-1);
      if (known && number < 0) {
        return Wrong(fmt::format("a number after \"{}\"", name));
      }
      if (!known) {
        AddUnused(name, i + 1 < words_.size() ? words_[i + 1] : "", out);
        i += i + 1 < words_.size() && !words_[i + 1].ends_with(':') ? 1 : 0;
        continue;
      }
      ++i;
      if (experts) {
        out.expert_parallel = number;
      } else if (name == "pp:" || name == "all_gpus:") {
        if (number < 1) {
          return Wrong(fmt::format("a number of at least 1 after \"{}\"", name));
        }
        name == "pp:" ? void(out.pipeline_parallel = number) : void(out.ranks = number);
      } else if (!list) {
        out.model_parallel = number;
      }
      for (std::int64_t k = 0; list && k < number; ++k) {
        const auto layer = ++i < words_.size() ? Number(words_[i]) : std::nullopt;
        if (!layer) {
          return Wrong(fmt::format("{} numbers of layers after \"{}\"", number, name));
        }
        (name == "checkpoints:" ? checkpoints_ : initiates_).push_back(*layer);
      }
    }
    return {};
  }

  // Interleaving and accumulation are in the layers already, and a pp_comm of 0 is none.
  static void AddUnused(std::string_view name, std::string_view value, Workload& out) {
    const bool said = name == "vpp:" || name == "ga:" || (name == "pp_comm:" && value == "0");
    if (!said) {
      out.not_used.emplace_back(name);
    }
  }

  // The layers that the first line names, now that all are known.
  Status MarkLayers(Workload& out) {
    const auto layers = static_cast<std::int64_t>(out.layers.size());
    for (const auto* list : {&checkpoints_, &initiates_}) {
      for (const std::int64_t layer : *list) {
        if (layer < 0 || layer >= layers) {
          return BadInput(fmt::format("{}: line 1: a checkpoint is layer {}, there are {} layers",
                                      file_.path(), layer, layers));
        }
        Layer& marked = out.layers[static_cast<std::size_t>(layer)];
        (list == &checkpoints_ ? marked.checkpoint : marked.recomputes) = true;
      }
    }
    constexpr std::size_t kMaxPasses = std::size_t{1} << 22;
    std::optional<std::size_t> checkpoint;
    std::size_t passes = 0;
    for (std::size_t i = 0; i < out.layers.size(); ++i) {
      checkpoint = out.layers[i].checkpoint ? i : checkpoint;
      if (!out.layers[i].recomputes) {
        continue;
      }
      passes += i - checkpoint.value_or(i);
      if (passes > kMaxPasses) {
        return BadInput(fmt::format(
            "{}: line 1: {} forward passes of layers run again up to layer {}; at most {} are "
            "converted",
            file_.path(), passes, i, kMaxPasses));
      }
      if (!checkpoint) {
        return BadInput(fmt::format(
            "{}: line 1: layer {} initiates a forward pass from a checkpoint, and no layer up to "
            "it is one",
            file_.path(), i));
      }
    }
    return {};
  }

  Result<std::int64_t> ReadCount() {
    const auto count = NextLine() ? Number(words_[0]) : std::nullopt;
    if (!count || *count < 1 || words_.size() != 1) {
      return Wrong("the number of layers, and nothing else");
    }
    return *count;
  }

  Status ReadLayer(std::int64_t unit_ns, Layer& layer) {
    constexpr std::size_t kWords = 12;
    // HYBRID_CUSTOMIZED has the layer's own type behind; the transfers say the same.
    if (words_.size() < kWords || words_.size() > kWords + 1) {
      return Wrong(
          fmt::format("{} words (name, reserved, three times compute, transfer, bytes, "
                      "then the update), found {}",
                      kWords, words_.size()));
    }
    layer.name = words_[0];
    if (!Number(words_[1])) {
      return Wrong(fmt::format("a number as the second word, found \"{}\"", words_[1]));
    }
    REPRISE_ASSIGN(layer.forward, ReadPhase(2, Scope::kModel));
    REPRISE_ASSIGN(layer.input_gradient, ReadPhase(5, Scope::kModel));
    REPRISE_ASSIGN(layer.weight_gradient, ReadPhase(8, Scope::kData));
    REPRISE_ASSIGN(layer.update_ns, ReadAmount(11));
    for (std::int64_t* const time_ns : {&layer.forward.compute_ns, &layer.input_gradient.compute_ns,
                                        &layer.weight_gradient.compute_ns, &layer.update_ns}) {
      *time_ns *= unit_ns;
    }
    return {};
  }

  Result<std::int64_t> ReadAmount(std::size_t at) const {
    constexpr std::int64_t kMax = std::int64_t{1} << 50;
    const auto amount = Number(words_[at]);
    if (!amount || *amount < 0 || *amount > kMax) {
      return Wrong(
          fmt::format("a number from 0 to 2^50 as word {}, found \"{}\"", at + 1, words_[at]));
    }
    return *amount;
  }

  // `scope`: of a transformer's transfer whose word names none.
  Result<Phase> ReadPhase(std::size_t at, Scope scope) const {
    Phase phase;
    REPRISE_ASSIGN(phase.compute_ns, ReadAmount(at));
    REPRISE_ASSIGN(phase.bytes, ReadAmount(at + 2));
    std::string_view word = words_[at + 1];
    if (word == "NONE") {
      return phase;
    }
    phase.scope = transformer_ ? scope : Scope::kWorld;
    const auto ends = [&word](std::string_view suffix) {
      const bool has = word.ends_with(suffix);
      word.remove_suffix(has ? suffix.size() : 0);
      return has;
    };
    if (transformer_ && ends("_DP_EP")) {
      phase.scope = Scope::kExpertData;
    } else if (transformer_ && ends("_EP")) {
      phase.scope = Scope::kExpert;
    }
    for (const CommKind kind :
         {CommKind::kAllReduce, CommKind::kAllGather, CommKind::kReduceScatter, CommKind::kAllToAll,
          CommKind::kBroadcast}) {
      if (ParseCommKind(word) == kind) {
        phase.transfer = kind;
        return phase;
      }
    }
    return Wrong(fmt::format(
        "NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL or BROADCAST (of transformers also "
        "with _EP or _DP_EP) as word {}, found \"{}\"",
        at + 2, words_[at + 1]));
  }

  const TextFile& file_;
  std::string_view rest_;
  std::vector<std::string_view> words_;
  bool transformer_ = false;
  std::vector<std::int64_t> checkpoints_, initiates_;  // layers
  int line_ = 0;
};

}  // namespace

Result<Workload> ReadWorkload(const TextFile& file) { return Parser(file).Run(); }

bool LooksLikeWorkload(const std::string& path) {
  constexpr std::size_t kHeadBytes = 4096;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return false;
  }
  const std::string head = ReadHead(path, kHeadBytes);
  const std::size_t line = head.find('\n');
  const std::vector<std::string_view> first = Words(std::string_view(head).substr(0, line));
  if (first.empty() || line == std::string::npos || !ParseParallelism(first[0])) {
    return false;
  }
  const std::string_view rest = std::string_view(head).substr(line + 1);
  const auto second = Words(rest.substr(0, rest.find('\n')));
  return second.size() == 1 && Number(second[0]);
}

}  // namespace reprise::astra_text
