// Calls for conformance tests: every operator of the family, small and odd.
#include <string>

#include "kernels/ops/attention/attention_call.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

using samples::Bool, samples::Double, samples::Int, samples::None, samples::SampleTensors;

// Forward and backward of one shape under the CPU operator's names. Heads lie between the tokens,
// as a projection leaves them: strides (T H E, E, H E, 1).
void AddCpuSamples(std::vector<OpCall>& calls, DType t, std::int64_t queries, std::int64_t keys,
                   std::int64_t features, bool causal, const Value& mask_kind) {
  constexpr std::int64_t kBatch = 2;
  constexpr std::int64_t kHeads = 3;
  for (const bool backward : {false, true}) {
    SampleTensors s;
    const auto tensor = [&](std::int64_t tokens) {
      return Value{s.Strided(t, {kBatch, kHeads, tokens, features},
                             {tokens * kHeads * features, features, kHeads * features, 1})};
    };
    const Value q = tensor(queries);
    const Value k = tensor(keys);
    const Value v = tensor(keys);
    const Value out = tensor(queries);
    const Value lse = {
        s.Strided(DType::kFloat32, {kBatch, kHeads, queries}, {queries * kHeads, 1, kHeads})};
    Value mask = None();
    if (const std::string* kind = mask_kind.AsString()) {
      mask = *kind == "bool" ? Value{s.Tensor(DType::kBool, {queries, keys})}
                             : Value{s.Tensor(DType::kFloat32, {kBatch, 1, queries, keys})};
    }
    const Value scale = Double(0.11);
    if (backward) {
      calls.push_back({"aten::_scaled_dot_product_flash_attention_for_cpu_backward",
                       {tensor(queries), q, k, v, out, lse, Double(0), Bool(causal), mask, scale},
                       {tensor(queries), tensor(keys), tensor(keys)}});
    } else {
      calls.push_back({"aten::_scaled_dot_product_flash_attention_for_cpu",
                       {q, k, v, Double(0), Bool(causal), mask, scale},
                       {out, lse}});
    }
  }
}

// The names under which GPUs record it.
void AddGpuSamples(std::vector<OpCall>& calls) {
  SampleTensors s;
  const auto t = [&] { return Value{s.Tensor(DType::kFloat32, {2, 2, 9, 8})}; };
  const Value q = t(), k = t(), v = t(), out = t(), grad = t();
  const Value lse = {s.Tensor(DType::kFloat32, {2, 2, 9})};
  const Value padded = {s.Tensor(DType::kFloat32, {2, 2, 32})};
  const Value bias = {s.Tensor(DType::kFloat32, {2, 2, 9, 9})};
  const Value column = {s.Tensor(DType::kFloat32, {2, 2, 9, 1})};
  const Value zero = Double(0), no = Bool(false), yes = Bool(true), none = None(), nine = Int(9);
  calls.push_back({"aten::_scaled_dot_product_flash_attention",
                   {q, k, v, zero, yes, no, none},
                   {out, lse, none, none, nine, nine, none, none, none}});
  calls.push_back(
      {"aten::_scaled_dot_product_flash_attention_backward",
       {grad, q, k, v, out, lse, none, none, nine, nine, zero, yes, none, none, Double(0.2)},
       {t(), t(), t()}});
  calls.push_back({"aten::_scaled_dot_product_efficient_attention",
                   {q, k, v, bias, yes, zero, no, none},
                   {out, padded, none, none}});
  calls.push_back({"aten::_scaled_dot_product_efficient_attention_backward",
                   {grad, q, k, v, none, out, padded, none, none, zero,
                    Value{ValueList{yes, yes, yes, no}}, yes, Double(0.2)},
                   {t(), t(), t(), none}});
  // cuDNN's, with its logsumexp of four dimensions, and whatever a vendor overrides.
  calls.push_back({"aten::_scaled_dot_product_cudnn_attention",
                   {q, k, v, bias, yes, zero, no, no, none},
                   {out, column, none, none, nine, nine, none, none, none}});
  calls.push_back({"aten::_scaled_dot_product_cudnn_attention_backward",
                   {grad, q, k, v, out, column, none, none, none, none, none, nine, nine, zero, yes,
                    Double(0.2)},
                   {t(), t(), t()}});
  calls.push_back({"aten::_scaled_dot_product_fused_attention_overrideable",
                   {q, k, v, none, zero, yes, no, none},
                   {out, lse, none, none, nine, nine, none, none, none}});
  calls.push_back({"aten::_scaled_dot_product_fused_attention_overrideable_backward",
                   {grad, q, k, v, bias, Value{ValueList{yes, yes, yes, no}}, out, lse, none, none,
                    nine, nine, zero, no, none, none, none},
                   {t(), t(), t(), none}});
}

// Dropout, and three query heads to a head of keys and values.
void AddTrainingSamples(std::vector<OpCall>& calls) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    for (const double dropout : {0.0, 0.25}) {
      for (const bool causal : {false, true}) {
        SampleTensors s;
        const auto t = [&](std::int64_t heads) {
          return Value{s.Tensor(dtype, {2, heads, 21, 8})};
        };
        const Value q = t(6), k = t(2), v = t(2), out = t(6), grad = t(6);
        const Value lse = {s.Tensor(DType::kFloat32, {2, 6, 21})};
        const Value p = Double(dropout), is_causal = Bool(causal), no = Bool(false), none = None();
        const Value n = Int(21);
        calls.push_back({"aten::_scaled_dot_product_flash_attention",
                         {q, k, v, p, is_causal, no, none},
                         {out, lse, none, none, n, n, none, none, none}});
        calls.push_back(
            {"aten::_scaled_dot_product_flash_attention_backward",
             {grad, q, k, v, out, lse, none, none, n, n, p, is_causal, none, none, Double(0.2)},
             {t(6), t(2), t(2)}});
      }
    }
  }
}

// What PyTorch's attention calls inside, tokens before heads.
void AddTokensFirstSamples(std::vector<OpCall>& calls) {
  SampleTensors s;
  const auto t = [&] { return Value{s.Tensor(DType::kFloat32, {2, 9, 3, 8})}; };
  const Value q = t(), k = t(), v = t(), out = t(), grad = t();
  const Value lse = {s.Tensor(DType::kFloat32, {2, 3, 9})};
  const Value padded = {s.Tensor(DType::kFloat32, {2, 3, 32})};
  const Value bias = {s.Tensor(DType::kFloat32, {2, 3, 9, 9})};
  const Value zero = Double(0), no = Bool(false), yes = Bool(true), none = None(), nine = Int(9);
  const Value wide = Int(-1);
  calls.push_back({"aten::_flash_attention_forward",
                   {q, k, v, none, none, nine, nine, zero, yes, no, none, none, none, none, none},
                   {out, lse, none, none, none}});
  calls.push_back({"aten::_flash_attention_backward",
                   {grad, q, k, v, out, lse, none, none, nine, nine, zero, no, none, none,
                    Double(0.2), wide, wide},
                   {t(), t(), t()}});
  for (const std::int64_t left : {0, 3, 20}) {  // windows of one, four and all tokens
    calls.push_back(
        {"aten::_flash_attention_forward",
         {q, k, v, none, none, nine, nine, zero, yes, no, none, Int(left), Int(0), none, none},
         {out, lse, none, none, none}});
    calls.push_back({"aten::_flash_attention_backward",
                     {grad, q, k, v, out, lse, none, none, nine, nine, zero, yes, none, none,
                      Double(0.2), Int(left), Int(0)},
                     {t(), t(), t()}});
  }
  for (const bool windowed : {false, true}) {  // the last query sees the last key
    const auto many = [&](std::int64_t tokens) {
      return Value{s.Tensor(DType::kFloat32, {2, tokens, 3, 8})};
    };
    const Value few_q = many(5), few_out = many(5);
    const Value few_lse = {s.Tensor(DType::kFloat32, {2, 3, 5})};
    const Value n = Int(5), left = windowed ? Int(6) : none, right = windowed ? Int(0) : none;
    const Value keys = many(12), values = many(12);
    calls.push_back({"aten::_flash_attention_forward",
                     {few_q, keys, values, none, none, n, Int(12), zero, yes, no, none, left, right,
                      none, none},
                     {few_out, few_lse, none, none, none}});
    calls.push_back({"aten::_flash_attention_backward",
                     {many(5), few_q, keys, values, few_out, few_lse, none, none, n, Int(12), zero,
                      yes, none, none, none, left, right},
                     {many(5), many(12), many(12)}});
  }
  {  // three sequences in a row
    const auto row = [&] { return Value{s.Tensor(DType::kFloat32, {17, 3, 8})}; };
    const Value row_q = row(), row_k = row(), row_v = row(), row_out = row();
    const Value row_lse = {s.Tensor(DType::kFloat32, {3, 17})};
    const Value starts = {ValueList{Int(0), Int(9), Int(10), Int(17)}};
    calls.push_back({"aten::_flash_attention_forward",
                     {row_q, row_k, row_v, starts, starts, nine, nine, zero, yes, no, none, none,
                      none, none, none},
                     {row_out, row_lse, none, none, none}});
    calls.push_back({"aten::_flash_attention_backward",
                     {row(), row_q, row_k, row_v, row_out, row_lse, starts, starts, nine, nine,
                      zero, yes, none, none, none, none, none},
                     {row(), row(), row()}});
  }
  {  // several blocks of the host's, a window over two of them
    const auto large = [&] { return Value{s.Tensor(DType::kFloat32, {1, 150, 2, 4})}; };
    const Value large_q = large(), large_out = large();
    const Value large_lse = {s.Tensor(DType::kFloat32, {1, 2, 150})};
    const Value n = Int(150), window = Int(69);
    const Value keys = large(), values = large();
    calls.push_back(
        {"aten::_flash_attention_forward",
         {large_q, keys, values, none, none, n, n, zero, yes, no, none, window, Int(0), none, none},
         {large_out, large_lse, none, none, none}});
    calls.push_back({"aten::_flash_attention_backward",
                     {large(), large_q, keys, values, large_out, large_lse, none, none, n, n, zero,
                      yes, none, none, none, window, Int(0)},
                     {large(), large(), large()}});
  }
  calls.push_back({"aten::_efficient_attention_forward",
                   {q, k, v, bias, none, none, none, none, zero, Int(0), yes, none, none, none},
                   {out, padded, none, none, nine, nine}});
  calls.push_back({"aten::_efficient_attention_backward",
                   {grad, q, k, v, none, out, none, none, nine, nine, padded, zero, none, none,
                    Int(1), no, none, none, none},
                   {t(), t(), t(), none}});
}

}  // namespace

std::vector<OpCall> AttentionSamples() {
  std::vector<OpCall> calls;
  const auto f = DType::kFloat32;
  for (const bool causal : {false, true}) {
    AddCpuSamples(calls, f, 33, 33, 16, causal, None());
    AddCpuSamples(calls, f, 5, 20, 7, causal, None());
    AddCpuSamples(calls, f, 20, 6, 8, causal, None());
  }
  AddCpuSamples(calls, f, 140, 140, 4, true, None());  // several blocks, some left out
  AddCpuSamples(calls, f, 17, 19, 8, false, samples::Text("bool"));
  AddCpuSamples(calls, f, 17, 19, 8, false, samples::Text("float"));
  AddCpuSamples(calls, DType::kBFloat16, 18, 18, 8, true, None());
  AddCpuSamples(calls, DType::kFloat16, 18, 18, 8, false, None());
  AddGpuSamples(calls);
  AddTrainingSamples(calls);
  AddTokensFirstSamples(calls);
  return calls;
}

}  // namespace reprise
