// Random numbers and dropout. The original's generator is not reproduced: numbers come from a
// counter-based hash with a seed per storage, the same on every backend and in every run.
#include <array>

#include "kernels/cpu/non_temporal_store.h"
#include "kernels/cpu/parallel_for.h"
#include "kernels/ops/common/host_convert.h"
#include "kernels/ops/common/host_floats.h"
#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/random/random_draw.h"
#include "kernels/ops/random/random_loops.h"
#include "kernels/samples.h"
#include "kernels/tensor_access.h"

namespace reprise {
namespace {

// How many integers random_() without arguments draws from, by dtype: all that are exact, from 0.
std::uint64_t DefaultRange(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return 2;
    case DType::kFloat32:
      return (1ULL << 24) + 1;
    case DType::kFloat64:
      return (1ULL << 53) + 1;
    case DType::kFloat16:
      return (1ULL << 11) + 1;
    case DType::kBFloat16:
      return (1ULL << 8) + 1;
    case DType::kUInt8:
      return 256;
    case DType::kInt64:
      return 1ULL << 63;
    default:
      return 1ULL << (SizeOf(dtype) * 8 - 1);
  }
}

// random_(self, generator), random_(self, to, generator), random_(self, from, to, generator)
void ParseIntegers(const OpCall& call, RandomCall& out) {
  out.kind = RandomKind::kIntegers;
  out.range = DefaultRange(out.out->dtype);
  std::vector<std::int64_t> bounds;
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    if (const auto* bound = std::get_if<std::int64_t>(&call.inputs[i].data)) {
      bounds.push_back(*bound);
    }
  }
  const bool has_from = call.inputs.size() >= 4;
  if (has_from && !bounds.empty()) {
    out.from = bounds[0];
    bounds.erase(bounds.begin());
  }
  if (!bounds.empty()) {
    out.range = bounds[0] > out.from
                    ? static_cast<std::uint64_t>(bounds[0]) - static_cast<std::uint64_t>(out.from)
                    : 1;
  }
}

struct RealKind {
  std::string_view name;
  RandomKind kind;
  double p, q;  // defaults
};
constexpr std::array kRealKinds = {
    RealKind{"aten::uniform_", RandomKind::kUniform, 0, 1},
    RealKind{"aten::normal_", RandomKind::kNormal, 0, 1},
    RealKind{"aten::bernoulli_", RandomKind::kBernoulli, 0.5, 0},
    RealKind{"aten::bernoulli", RandomKind::kBernoulli, 0.5, 0},
    RealKind{"aten::exponential_", RandomKind::kExponential, 1, 0},
    RealKind{"aten::cauchy_", RandomKind::kCauchy, 0, 1},
    RealKind{"aten::log_normal_", RandomKind::kLogNormal, 1, 2},
    RealKind{"aten::geometric_", RandomKind::kGeometric, 0.5, 0},
};

std::optional<IndexSpace> SpaceOf(const RandomCall& call) {
  const TensorDesc* second = call.probabilities != nullptr ? call.probabilities : call.out;
  const std::array<const TensorDesc*, 2> operands = {call.out, second};
  return MakeIndexSpace(call.out->shape, operands);
}

std::optional<RandomCall> ParseRandom(const OpCall& call) {
  RandomCall parsed;
  parsed.out = call.OutputTensor(0) != nullptr ? call.OutputTensor(0) : call.InputTensor(0);
  if (parsed.out == nullptr || !IsKernelType(parsed.out->dtype)) {
    return std::nullopt;
  }
  parsed.seed = RandomSeed(*parsed.out);
  if (call.name == "aten::random_") {
    ParseIntegers(call, parsed);
    return SpaceOf(parsed) ? std::optional(parsed) : std::nullopt;
  }
  for (const RealKind& kind : kRealKinds) {
    if (kind.name == call.name) {
      parsed.kind = kind.kind;
      parsed.p = NumberOr(call.Argument(1), kind.p);
      parsed.q = NumberOr(call.Argument(2), kind.q);
      // bernoulli(self) draws with the probabilities in self, bernoulli_(self, p) with p's.
      parsed.probabilities = call.name == "aten::bernoulli"    ? call.InputTensor(0)
                             : call.name == "aten::bernoulli_" ? call.InputTensor(1)
                                                               : nullptr;
      return SpaceOf(parsed) ? std::optional(parsed) : std::nullopt;
    }
  }
  return std::nullopt;
}

void LowerRandom(const RandomCall& call, RowLowering& rows) {
  const IndexSpace space = *SpaceOf(call);
  const DType p_type = call.probabilities != nullptr ? call.probabilities->dtype : DType::kFloat32;
  rows.UseTypes({{"T", call.out->dtype}, {"P", p_type}}, DType::kFloat32);
  Buffer* const out = rows.BufferFor(*call.out);
  if (call.probabilities != nullptr) {
    rows.LaunchItems("bernoulli_of", space.count, out, rows.BufferFor(*call.probabilities),
                     StructArg(space), call.seed);
    return;
  }
  rows.LaunchItems("generate", space.count, out, StructArg(space),
                   static_cast<std::int32_t>(call.kind), call.seed, call.from, call.range,
                   static_cast<float>(call.p), static_cast<float>(call.q));
}

Status RunRandom(const RandomCall& call, const HostBindings& memory) {
  const std::int64_t count = Count(*call.out);
  if (call.kind == RandomKind::kIntegers) {
    Integers draws;
    for (std::int64_t i = 0; i < count; ++i) {
      draws.push_back(call.from + static_cast<std::int64_t>(BitsOfDraw(call, i) % call.range));
    }
    return WriteIntegers(*call.out, memory, draws);
  }
  Doubles values(static_cast<std::size_t>(count), call.p);  // probabilities, then draws
  if (call.probabilities != nullptr) {
    const TensorDesc& p = *call.probabilities;
    const Dims& shape = call.out->shape;
    const TensorDesc wide = ViewOf(p, shape, BroadcastStrides(p, shape), p.offset);
    REPRISE_ASSIGN(values, ReadDoubles(wide, memory));
  }
  for (std::int64_t i = 0; double& value : values) {
    value = DrawReal(call, BitsOfDraw(call, i++), value);
  }
  return WriteDoubles(*call.out, memory, values);
}

// Whether loops draw it: dense, one probability for all; real numbers in float32.
bool IsDrawnByLoops(const RandomCall& call) {
  const bool real = call.kind == RandomKind::kUniform || call.kind == RandomKind::kNormal ||
                    call.kind == RandomKind::kExponential || call.kind == RandomKind::kBernoulli;
  return IsContiguous(*call.out) && call.probabilities == nullptr &&
         (call.kind == RandomKind::kIntegers || (real && call.out->dtype != DType::kFloat64));
}

void DrawRun(const RandomCall& call, std::int64_t first, std::int64_t* y, std::int64_t n) {
  loops::DrawIntegers(call.seed, first, call.from, call.range, y, n);
}
void DrawRun(const RandomCall& call, std::int64_t first, float* y, std::int64_t n) {
  const auto p = static_cast<float>(call.p);
  const auto q = static_cast<float>(call.q);
  switch (call.kind) {
    case RandomKind::kNormal:
      return loops::DrawNormal(call.seed, first, p, q, y, n);
    case RandomKind::kExponential:
      return loops::DrawExponential(call.seed, first, p, y, n);
    case RandomKind::kBernoulli:
      return loops::DrawBernoulli(call.seed, first, p, y, n);
    default:
      return loops::DrawUniform(call.seed, first, p, static_cast<float>(call.q - call.p), y, n);
  }
}

// In parts: in place, or by blocks that are converted on the way out.
template <typename C>
Status RunByLoops(const RandomCall& call, const HostBindings& memory) {
  REPRISE_ASSIGN(const HostTensor out, HostTensor::Bind(*call.out, memory));
  constexpr double kBytesWorth = 16;  // a number takes as long to draw
  ParallelFor(out.count(), GrainSize(kBytesWorth), [&](std::int64_t begin, std::int64_t end) {
    if constexpr (std::is_same_v<C, float>) {
      if (out.dtype() == DType::kFloat32) {
        const NonTemporalStore store(out.count() * SizeOf(DType::kFloat32));
        float* const to = reinterpret_cast<float*>(out.data()) + call.out->offset + begin;
        return store.Write(to, end - begin, {}, [&](std::int64_t i, float* y, std::int64_t n) {
          DrawRun(call, begin + i, y, n);
        });
      }
    }
    std::array<C, 512> block;
    for (std::int64_t i = begin; i < end; i += std::ssize(block)) {
      const std::int64_t n = std::min<std::int64_t>(std::ssize(block), end - i);
      DrawRun(call, i, block.data(), n);
      StoreRun(block.data(), n, out.data(), out.dtype(), call.out->offset + i, 1);
    }
  });
  return {};
}

// native_dropout(input, p, train) → (output, mask)
struct Dropout {
  const TensorDesc *in = nullptr, *out = nullptr, *mask = nullptr;
  float p = 0;
};

std::optional<Dropout> ParseDropout(const OpCall& call) {
  if (call.name != "aten::native_dropout") {
    return std::nullopt;
  }
  Dropout dropout{call.InputTensor(0), call.OutputTensor(0), call.OutputTensor(1),
                  static_cast<float>(NumberOr(call.Argument(1), 0.5))};
  if (!TruthOr(call.Argument(2), true)) {
    dropout.p = 0;
  }
  for (const TensorDesc* tensor : {dropout.in, dropout.out, dropout.mask}) {
    if (tensor == nullptr || !IsContiguous(*tensor) || tensor->shape != dropout.in->shape) {
      return std::nullopt;
    }
  }
  const bool types = IsFloating(dropout.in->dtype) && IsKernelType(dropout.in->dtype) &&
                     dropout.out->dtype == dropout.in->dtype && dropout.mask->dtype == DType::kBool;
  return types ? std::optional(dropout) : std::nullopt;
}

void LowerDropout(const Dropout& dropout, RowLowering& rows) {
  const std::int64_t count = Count(*dropout.in);
  rows.UseTypes({{"T", dropout.in->dtype}, {"P", DType::kFloat32}}, DType::kFloat32);
  rows.LaunchItems("dropout", count, rows.Write(*dropout.out), rows.Write(*dropout.mask),
                   rows.Read(*dropout.in), count, dropout.p, RandomSeed(*dropout.out));
}

Status RunDropout(const Dropout& dropout, const HostBindings& memory) {
  REPRISE_ASSIGN(const HostTensor in, HostTensor::Bind(*dropout.in, memory));
  REPRISE_ASSIGN(const HostTensor out, HostTensor::Bind(*dropout.out, memory));
  REPRISE_ASSIGN(const HostTensor mask, HostTensor::Bind(*dropout.mask, memory));
  const double scale = dropout.p < 1 ? 1 / (1 - static_cast<double>(dropout.p)) : 0;
  const std::uint64_t seed = RandomSeed(*dropout.out);
  for (std::int64_t i = 0; i < in.count(); ++i) {
    const bool keep = static_cast<float>(RandomUnit(RandomHalf(seed, i))) >= dropout.p;
    mask.SetInt(dropout.mask->offset + i, keep ? 1 : 0);
    out.Set(dropout.out->offset + i, keep ? in.Get(dropout.in->offset + i) * scale : 0);
  }
  return {};
}

// The same numbers in float32, in parts.
Status RunDropoutOnHost(const Dropout& dropout, const HostBindings& memory) {
  if (!AreFloats({dropout.in}) || ElementCount(dropout.in->shape) == 0) {
    return RunDropout(dropout, memory);
  }
  REPRISE_ASSIGN(const FloatsIn in, FloatsIn::Read(*dropout.in, memory));
  REPRISE_ASSIGN(FloatsOut out, FloatsOut::Write(*dropout.out, memory));
  REPRISE_ASSIGN(const HostTensor mask, HostTensor::Bind(*dropout.mask, memory));
  auto* kept = reinterpret_cast<std::uint8_t*>(mask.data()) + dropout.mask->offset;
  const double scale = dropout.p < 1 ? 1 / (1 - static_cast<double>(dropout.p)) : 0;
  const std::uint64_t seed = RandomSeed(*dropout.out);
  constexpr double kBytesWorth = 16;  // a number takes as long to draw
  const std::int64_t count = ElementCount(dropout.in->shape);
  ParallelFor(count, GrainSize(kBytesWorth), [&](std::int64_t begin, std::int64_t end) {
    const NonTemporalStore store(count * SizeOf(DType::kFloat32));
    const float* const x = in.data() + begin;
    store.Write(out.data() + begin, end - begin, {x + NonTemporalStore::kAheadFloats},
                [&](std::int64_t i, float* y, std::int64_t n) {
                  loops::Dropout(x + i, seed, begin + i, dropout.p, static_cast<float>(scale), y,
                                 kept + begin + i, n);
                });
  });
  return out.Store(memory);
}

Status RunRandomOnHost(const RandomCall& call, const HostBindings& memory) {
  if (!IsDrawnByLoops(call)) {
    return RunRandom(call, memory);
  }
  return call.kind == RandomKind::kIntegers ? RunByLoops<std::int64_t>(call, memory)
                                            : RunByLoops<float>(call, memory);
}

std::vector<OpCall> RandomSamples() {
  using samples::Double, samples::Int, samples::None;
  std::vector<OpCall> calls;
  samples::SampleTensors t;
  using enum DType;
  const Value ids{t.Tensor(kInt64, {3, 65})};
  const Value bytes{t.Tensor(kUInt8, {200})};
  const Value real{t.Strided(kFloat32, {5, 40}, {100, 2}, 1)};
  const Value out{t.Tensor(kFloat32, {5, 40})};
  const Value mask{t.Tensor(kBool, {5, 40})};
  const Value p{t.Tensor(kFloat32, {40})};
  calls.push_back({"aten::random_", {ids, Int(0), Int(512), None()}, {ids}});
  calls.push_back({"aten::random_", {ids, Int(-7), None(), None()}, {ids}});
  calls.push_back({"aten::random_", {ids, Int(9), None()}, {ids}});
  calls.push_back({"aten::random_", {ids, None()}, {ids}});
  calls.push_back({"aten::random_", {bytes, None()}, {bytes}});
  for (const char* name : {"aten::normal_", "aten::uniform_", "aten::log_normal_"}) {
    calls.push_back({name, {real, Double(-0.5), Double(0.5), None()}, {real}});
  }
  calls.push_back({"aten::normal_", {out, None()}, {out}});
  calls.push_back({"aten::cauchy_", {real, Double(0), Double(0.001), None()}, {real}});
  calls.push_back({"aten::exponential_", {real, Double(2), None()}, {real}});
  calls.push_back({"aten::geometric_", {real, Double(0.3), None()}, {real}});
  calls.push_back({"aten::bernoulli_", {real, Double(0.3), None()}, {real}});
  calls.push_back({"aten::bernoulli_", {mask, p, None()}, {mask}});
  calls.push_back({"aten::bernoulli", {real, None()}, {out}});
  for (const DType dtype : {kFloat32, kBFloat16, kFloat16, kFloat64}) {
    const Value in{t.Tensor(dtype, {5, 40})};
    const Value dropped{t.Tensor(dtype, {5, 40})};
    calls.push_back(
        {"aten::native_dropout", {in, Double(0.1), samples::Bool(true)}, {dropped, mask}});
  }
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeRandom() {
  // The tolerance: logarithms and cosines in float against double.
  return MakeParsedKernel(
      {.name = "random",
       .program = "random.cl",
       .samples = RandomSamples,
       .tolerance = {1e-4, 1e-3}},
      CallForm<Dropout>{ParseDropout, RunDropout, LowerDropout, RunDropoutOnHost},
      CallForm<RandomCall>{ParseRandom, RunRandom, LowerRandom, RunRandomOnHost});
}

}  // namespace reprise
