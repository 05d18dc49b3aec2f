#include "report/operations/inference.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "core/median.h"

namespace reprise {
namespace {

using Dims = std::vector<std::int64_t>;

// "[2,4,24,16] [2,4,24,16]" → the numbers of each.
std::vector<Dims> DimsOf(std::string_view shape) {
  std::vector<Dims> out;
  for (std::size_t at = shape.find('['); at != std::string_view::npos; at = shape.find('[', at)) {
    Dims dims;
    const char* next = shape.data() + at + 1;
    const char* const end = shape.data() + shape.size();
    while (next < end && *next != ']') {
      std::int64_t number = 0;
      const auto [rest, code] = std::from_chars(next, end, number);
      if (code != std::errc()) {
        return out;
      }
      dims.push_back(number);
      next = rest < end && *rest == ',' ? rest + 1 : rest;
    }
    out.push_back(std::move(dims));
    at = static_cast<std::size_t>(next - shape.data());
  }
  return out;
}

struct Attention {
  std::int64_t sequences = 0, queries = 0, keys = 0, cache_bytes = 0;
};

// Of fused attention [batch, heads, length, width] (flash kernels' own entry: lengths before
// heads), else of the softmax of its scores [batch, heads, queries, keys].
std::optional<Attention> AttentionOf(const TimedOperation& of) {
  const std::vector<Dims> dims = DimsOf(of.shape);
  const std::int64_t item = SizeOf(of.dtype);
  if (of.op_class == OpClass::kAttention && dims.size() >= 2 && dims[0].size() == 4 &&
      dims[1].size() == 4) {
    const std::size_t length =
        of.name.find("_flash_attention_forward") == std::string::npos ? 2 : 1;
    const Dims& key = dims[1];
    return Attention{dims[0][0], dims[0][length], key[length],
                     2 * key[0] * key[1] * key[2] * key[3] * item};
  }
  if (of.op_class == OpClass::kSoftmax && !dims.empty() && dims[0].size() == 4) {
    return Attention{dims[0][0], dims[0][2], dims[0][3], 0};
  }
  return std::nullopt;
}

// Of the thread with most attention: a pass ends where, after attention, a table is looked up
// again; without tables where the lengths change.
class PassFinder {
 public:
  explicit PassFinder(const RankOperations& rank) : rank_(rank) {}

  std::vector<InferencePass> Find() {
    std::map<std::int64_t, std::int64_t> attentions;  // by thread
    for (const TimedOperation& of : rank_.operations) {
      attentions[of.thread] += AttentionOf(of) ? 1 : 0;
    }
    const auto most = std::ranges::max_element(
        attentions, [](const auto& x, const auto& y) { return x.second < y.second; });
    if (most == attentions.end() || most->second == 0) {
      return {};
    }
    for (std::uint32_t i = 0; i < rank_.operations.size(); ++i) {
      if (rank_.operations[i].thread == most->first) {
        tables_ = tables_ || rank_.operations[i].op_class == OpClass::kEmbedding;
      }
    }
    for (std::uint32_t i = 0; i < rank_.operations.size(); ++i) {
      if (rank_.operations[i].thread == most->first) {
        Add(i);
      }
    }
    Close(next_);
    return std::move(passes_);
  }

 private:
  void Add(std::uint32_t i) {
    const TimedOperation& of = rank_.operations[i];
    const auto attention = AttentionOf(of);
    const bool lookup = of.op_class == OpClass::kEmbedding;
    const bool other = attention && seen_ &&
                       (attention->keys != seen_->keys || attention->queries != seen_->queries);
    if (tables_ ? seen_ && lookup : other) {
      Close(Beginning(i));
    }
    if (!open_ && (lookup || !tables_)) {
      open_ = InferencePass{.first = Beginning(i)};
    }
    // What makes values of nothing (positions, masks) prepares what follows.
    made_of_nothing_ =
        of.shape.empty() ? made_of_nothing_.value_or(i) : std::optional<std::uint32_t>();
    if (attention && open_) {
      seen_ = seen_ ? seen_ : attention;
      open_->cache_bytes += attention->cache_bytes;
    }
    next_ = i + 1;
  }

  [[nodiscard]] std::uint32_t Beginning(std::uint32_t i) const {
    return made_of_nothing_.value_or(i);
  }

  void Close(std::uint32_t last) {
    if (open_ && seen_) {
      open_->last = last;
      open_->start_ns = rank_.operations[open_->first].start_ns;
      for (std::uint32_t i = open_->first; i < last; ++i) {
        open_->end_ns = std::max(open_->end_ns, rank_.operations[i].end_ns);
      }
      open_->sequences = seen_->sequences;
      open_->tokens = seen_->queries;
      open_->context = seen_->keys;
      open_->kind = seen_->queries == 1 && seen_->keys > 1 ? PassKind::kDecode : PassKind::kPrefill;
      passes_.push_back(*open_);
    }
    open_.reset();
    seen_.reset();
  }

  std::optional<std::uint32_t> made_of_nothing_;  // the first of those just before
  std::uint32_t next_ = 0;
  const RankOperations& rank_;
  bool tables_ = false;
  std::optional<InferencePass> open_;
  std::optional<Attention> seen_;  // in the open pass
  std::vector<InferencePass> passes_;
};

double PerSecond(double tokens, double ns) { return ns > 0 ? tokens / ns * 1e9 : 0; }

}  // namespace

std::optional<InferencePhases> FindInference(const RankOperations& rank) {
  const bool trains = std::ranges::any_of(
      rank.operations, [](const TimedOperation& of) { return of.phase == Phase::kBackward; });
  if (trains) {
    return std::nullopt;
  }
  InferencePhases out{.passes = PassFinder(rank).Find()};
  std::vector<std::int64_t> first_ns;
  std::vector<std::int64_t> token_ns;
  std::vector<std::int64_t> growth;
  double prefill_tokens = 0, prefill_ns = 0, decode_tokens = 0, decode_ns = 0;
  for (std::size_t i = 0; i < out.passes.size(); ++i) {
    const InferencePass& pass = out.passes[i];
    const bool decode = pass.kind == PassKind::kDecode;
    // A host may be ahead of its device: tokens come when the passes end.
    const std::int64_t ns =
        pass.end_ns - (decode && i > 0 ? out.passes[i - 1].end_ns : pass.start_ns);
    (decode ? token_ns : first_ns).push_back(ns);
    (decode ? decode_tokens : prefill_tokens) += static_cast<double>(pass.sequences * pass.tokens);
    (decode ? decode_ns : prefill_ns) += static_cast<double>(ns);
    if (decode && i > 0) {
      growth.push_back(pass.cache_bytes - out.passes[i - 1].cache_bytes);
    }
  }
  if (token_ns.empty()) {
    return std::nullopt;
  }
  out.per_token_ns = Median(token_ns).value_or(0);
  if (!first_ns.empty()) {
    out.first_token_ns = Median(first_ns).value_or(0);
  }
  out.prefill_tokens_per_second = PerSecond(prefill_tokens, prefill_ns);
  out.decode_tokens_per_second = PerSecond(decode_tokens, decode_ns);
  const bool caches = std::ranges::any_of(
      out.passes, [](const InferencePass& pass) { return pass.cache_bytes > 0; });
  if (caches && !growth.empty()) {
    out.cache_growth_bytes = Median(growth).value_or(0);
  }
  return out;
}

}  // namespace reprise
