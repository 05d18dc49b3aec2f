#include "kernels/ops/attention/attention_call.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "core/costs/call_meaning.h"
#include "core/operator_arguments.h"
#include "kernels/device_lowering.h"
#include "kernels/ops/random/random_draw.h"
#include "kernels/views.h"

namespace reprise {
namespace {

bool HasShape(const TensorDesc* t, const std::vector<std::int64_t>& shape) {
  return t != nullptr && t->shape == shape;
}

// What is not supported: sequence lengths, slopes.
bool AllAbsent(const OpCall& call, const ArgumentPlaces& places) {
  const std::vector<int> absent = places.All("absent");
  return std::all_of(absent.begin(), absent.end(), [&](int at) {
    const auto i = static_cast<std::size_t>(at);
    return call.InputTensor(i) == nullptr && NumberOr(call.Argument(i), -1) < 0;
  });
}

// (batch, tokens, heads, features) seen as (batch, heads, tokens, features); a logsumexp with a
// last dimension of one without it.
void TurnToHeadsFirst(AttentionCall& a, bool tokens_first) {
  auto views = std::make_shared<std::vector<TensorDesc>>();
  views->reserve(9);  // pointers into it stay
  const auto turn = [&](const TensorDesc*& t) {
    if (tokens_first && t != nullptr && t->shape.size() == 4) {
      views->push_back(*t);
      std::swap(views->back().shape[1], views->back().shape[2]);
      std::swap(views->back().strides[1], views->back().strides[2]);
      t = &views->back();
    }
  };
  for (const TensorDesc** t :
       {&a.q, &a.k, &a.v, &a.out, &a.out_grad, &a.q_grad, &a.k_grad, &a.v_grad}) {
    turn(*t);
  }
  if (a.lse != nullptr && a.lse->shape.size() == 4 && a.lse->shape[3] == 1) {
    views->push_back(*a.lse);
    views->back().shape.pop_back();
    views->back().strides.pop_back();
    a.lse = &views->back();
  }
  a.views = std::move(views);
}

bool SetSizes(AttentionCall& a) {
  for (const TensorDesc* t : {a.q, a.k, a.v}) {
    if (t == nullptr || t->shape.size() != 4) {
      return false;
    }
  }
  a.batch = a.q->shape[0];
  a.heads = a.q->shape[1];
  a.queries = a.q->shape[2];
  a.features = a.q->shape[3];
  a.keys = a.k->shape[2];
  a.value_features = a.v->shape[3];
  const std::int64_t shared = a.k->shape[1];
  if (shared == 0 || a.heads % shared != 0) {
    return false;
  }
  a.group = a.heads / shared;
  return a.k->shape == std::vector{a.batch, shared, a.keys, a.features} &&
         a.v->shape == std::vector{a.batch, shared, a.keys, a.value_features} &&
         HasShape(a.out, {a.batch, a.heads, a.queries, a.value_features});
}

bool MaskFits(const AttentionCall& a) {
  const std::vector<std::int64_t> shape = {a.batch, a.heads, a.queries, a.keys};
  const bool type = a.mask->dtype == DType::kBool || a.mask->dtype == DType::kFloat32 ||
                    a.mask->dtype == a.q->dtype;
  const TensorDesc* operands[] = {a.mask};
  return type && a.mask->shape.size() <= 4 && MakeIndexSpace(shape, operands).has_value();
}

// The memory-efficient kernels pad the rows of logsumexp, and leave it empty where it is not
// requested.
bool LseFits(const AttentionCall& a) {
  return a.lse->dtype == DType::kFloat32 && a.lse->shape.size() == 3 &&
         a.lse->shape[0] == a.batch && a.lse->shape[1] == a.heads && a.lse->shape[2] >= a.queries;
}

}  // namespace

std::optional<AttentionCall> ParseAttention(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  if (!places.Has("q")) {
    return std::nullopt;
  }
  AttentionCall a;
  a.backward = places.Has("out_grad");
  const bool tokens_first = places.Has("tokens_first");
  a.q = places.Tensor(call, "q");
  a.k = places.Tensor(call, "k");
  a.v = places.Tensor(call, "v");
  a.mask = places.Tensor(call, "mask");
  a.causal = places.Number(call, "causal", 0) != 0;
  if (a.backward) {
    a.out_grad = places.Tensor(call, "out_grad");
    a.out = places.Tensor(call, "out");
    a.lse = places.Tensor(call, "lse");
    a.q_grad = call.OutputTensor(0);
    a.k_grad = call.OutputTensor(1);
    a.v_grad = call.OutputTensor(2);
  } else {
    a.out = call.OutputTensor(0);
    a.lse = call.OutputTensor(1);
    a.lse = a.lse != nullptr && ElementCount(a.lse->shape) == 0 ? nullptr : a.lse;
  }
  const auto window = AttentionWindow(call);
  a.window = window.value_or(0);
  TurnToHeadsFirst(a, tokens_first);
  a.dropout = places.Number(call, "dropout", 0);
  if (!window || !SetSizes(a) || a.dropout < 0 || a.dropout >= 1 || !AllAbsent(call, places) ||
      (a.mask != nullptr && !MaskFits(a)) || (a.lse != nullptr && !LseFits(a))) {
    return std::nullopt;
  }
  if (tokens_first && a.causal && a.queries != a.keys) {
    if (!places.Has("causal_by_last") || a.queries > a.keys) {
      return std::nullopt;
    }
    a.shift = a.keys - a.queries;
  }
  const DType dtype = a.q->dtype;
  if (dtype != DType::kFloat32 && dtype != DType::kBFloat16 && dtype != DType::kFloat16) {
    return std::nullopt;
  }
  if (a.backward && (a.lse == nullptr || call.OutputTensor(3) != nullptr ||
                     !HasShape(a.out_grad, a.out->shape) || !HasShape(a.q_grad, a.q->shape) ||
                     !HasShape(a.k_grad, a.k->shape) || !HasShape(a.v_grad, a.v->shape))) {
    return std::nullopt;
  }
  for (const TensorDesc* t : {a.k, a.v, a.out, a.out_grad, a.q_grad, a.k_grad, a.v_grad}) {
    if (t != nullptr && t->dtype != dtype) {
      return std::nullopt;
    }
  }
  a.scale = places.Number(call, "scale", 1 / std::sqrt(static_cast<double>(a.features)));
  return a;
}

std::optional<PackedAttention> ParsePackedAttention(const OpCall& call) {
  PackedAttention packed;
  packed.calls = std::make_shared<const std::vector<OpCall>>(PackedSequences(call));
  for (const OpCall& one : *packed.calls) {
    auto part = ParseAttention(one);
    if (!part) {
      return std::nullopt;
    }
    packed.parts.push_back(std::move(*part));
  }
  return packed.parts.empty() ? std::nullopt : std::optional(std::move(packed));
}

double KeptByDropout(const AttentionCall& a, std::int64_t b, std::int64_t h, std::int64_t i,
                     std::int64_t j) {
  if (a.dropout == 0) {
    return 1;
  }
  const std::int64_t element = ((b * a.heads + h) * a.queries + i) * a.keys + j;
  const double draw = RandomUnit(RandomHalf(RandomSeed(*a.out), element));
  // Compared in float, as on the device.
  const auto p = static_cast<float>(a.dropout);
  return static_cast<float>(draw) >= p ? 1 / (1 - a.dropout) : 0;
}

double AttentionPairs(const AttentionCall& a) {
  const auto queries = static_cast<double>(a.queries);
  const auto keys = static_cast<double>(a.keys);
  double pairs =
      a.causal ? CausalPairs(queries, keys, static_cast<double>(a.shift)) : queries * keys;
  if (a.window > 0) {
    pairs -= CausalPairs(queries, keys, static_cast<double>(a.shift - a.window));
  }
  return pairs * static_cast<double>(a.batch * a.heads);
}

}  // namespace reprise
