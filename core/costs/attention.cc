// Scaled dot-product attention.
#include "core/costs/call_meaning.h"
#include "core/costs/operands.h"
#include "core/costs/rules.h"
#include "core/operator_arguments.h"

namespace reprise::cost_rules {
namespace {

// Of each pair: scale, largest, difference, exponential, sum; backward: scale, difference,
// exponential, difference, product. The addend is one more.
constexpr double kPairFlops = 5;

// Aligned at the first query and key, or at the last: flash attention's own operators, and mask
// type 2 of the memory-efficient ones.
double PairsOf(const OpCall& call, const ArgumentPlaces& places, double queries, double keys,
               std::int64_t window) {
  const double causal = places.Number(call, "causal", 0);
  if (causal == 0) {
    return queries * keys;
  }
  const bool by_last = places.Has("causal_by_last") || (places.Has("tokens_first") && causal == 2);
  const double shift = by_last ? keys - queries : 0;
  const double seen = CausalPairs(queries, keys, shift);
  return window == 0 ? seen
                     : seen - CausalPairs(queries, keys, shift - static_cast<double>(window));
}

}  // namespace

// A pair of a query and a key takes 2 E to compare and 2 V to add up the value. Backward executes
// S = Q K^T, dP = dO V^T, dV = P^T dO, dQ = dS K, dK = dS^T Q: 6 E + 4 V.
std::optional<Cost> Attention(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const TensorDesc* q = places.Tensor(call, "q");
  const TensorDesc* k = places.Tensor(call, "k");
  const TensorDesc* v = places.Tensor(call, "v");
  if (const std::vector<OpCall> sequences = PackedSequences(call); !sequences.empty()) {
    Cost sum;
    for (const OpCall& sequence : sequences) {
      const auto cost = Attention(sequence);
      if (!cost) {
        return std::nullopt;
      }
      sum += *cost;
    }
    return sum;
  }
  for (const TensorDesc* tensor : {q, k, v}) {
    if (tensor == nullptr || tensor->shape.size() != 4) {
      return std::nullopt;  // sequences packed in a row: their lengths are data
    }
  }
  for (const int at : places.All("absent")) {
    const Value& value = call.Argument(static_cast<std::size_t>(at));
    if (call.InputTensor(static_cast<std::size_t>(at)) != nullptr ||
        value.AsNumber<double>(-1) >= 0) {
      return std::nullopt;  // lengths, slopes
    }
  }
  const auto window = AttentionWindow(call);
  if (!window) {
    return std::nullopt;
  }
  const std::size_t tokens = places.Has("tokens_first") ? 1 : 2;
  const auto extent = [](const TensorDesc* t, std::size_t d) {
    return static_cast<double>(t->shape[d]);
  };
  const double queries = extent(q, tokens);
  const double keys = extent(k, tokens);
  const double pairs =
      PairsOf(call, places, queries, keys, *window) * extent(q, 0) * extent(q, 3 - tokens);
  const double e = extent(q, 3);
  const double value = extent(v, 3);
  const TensorDesc* mask = places.Tensor(call, "mask");
  const double each = kPairFlops + (mask != nullptr ? 1 : 0);
  const double forward = pairs * (2 * (e + value) + each);
  const double bytes = Bytes(q) + Bytes(k) + Bytes(v) + Bytes(mask) + ResultBytes(call);
  if (!places.Has("out_grad")) {
    return Cost{forward, bytes};
  }
  return Cost{pairs * (6 * e + 4 * value + each),
              bytes + Bytes(places.Tensor(call, "out_grad")) + Bytes(places.Tensor(call, "out")) +
                  Bytes(places.Tensor(call, "lse")),
              2 * forward};
}

}  // namespace reprise::cost_rules
