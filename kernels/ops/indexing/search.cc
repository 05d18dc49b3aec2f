// Bucketize and searchsorted: kernels/ops/indexing/search.cl.
#include <optional>

#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

struct SearchCall {
  const TensorDesc* boundaries = nullptr;  // one row for all values, or one for each of their rows
  const TensorDesc* values = nullptr;
  const TensorDesc* out = nullptr;
  std::int64_t rows = 1, n = 0, width = 1;
  bool right = false;
};

// bucketize(self, boundaries, *, out_int32, right)
// searchsorted(sorted_sequence, self, *, out_int32, right, side, sorter)
std::optional<SearchCall> ParseSearch(const OpCall& call) {
  const bool bucketize = call.name == "aten::bucketize";
  SearchCall p;
  p.boundaries = call.InputTensor(bucketize ? 1 : 0);
  p.values = call.InputTensor(bucketize ? 0 : 1);
  p.out = call.OutputTensor(0);
  if (p.boundaries == nullptr || p.values == nullptr || p.out == nullptr ||
      p.boundaries->dtype != p.values->dtype || !IsKernelType(p.values->dtype) ||
      !IsIndexType(p.out->dtype) || p.out->shape != p.values->shape || Rank(*p.boundaries) < 1 ||
      call.InputTensor(5) != nullptr) {
    return std::nullopt;
  }
  p.n = p.boundaries->shape.back();
  p.width = Rank(*p.values) == 0 ? 1 : p.values->shape.back();
  p.rows = p.n == 0 ? 1 : Count(*p.boundaries) / p.n;
  const bool one = Rank(*p.boundaries) == 1;
  const bool each =
      Rank(*p.boundaries) == Rank(*p.values) &&
      std::equal(p.values->shape.begin(), p.values->shape.end() - 1, p.boundaries->shape.begin());
  const std::string* side = call.Argument(4).AsString();
  p.right = TruthOr(call.Argument(3), false) || (side != nullptr && *side == "right");
  return one || each ? std::optional(p) : std::nullopt;
}

template <typename T>
Integers Places(const SearchCall& p, const std::vector<T>& boundaries,
                const std::vector<T>& values) {
  Integers places;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t row = p.rows == 1 ? 0 : static_cast<std::int64_t>(i) / p.width * p.n;
    std::int64_t low = 0;
    std::int64_t high = p.n;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      const T boundary = boundaries[static_cast<std::size_t>(row + middle)];
      if (p.right ? boundary > values[i] : boundary >= values[i]) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    places.push_back(low);
  }
  return places;
}

Status ReferenceSearch(const SearchCall& p, const HostBindings& memory) {
  return InKindOf(p.values->dtype, [&](auto* read, auto* /*write*/) -> Status {
    REPRISE_ASSIGN(const auto boundaries, read(*p.boundaries, memory));
    REPRISE_ASSIGN(const auto values, read(*p.values, memory));
    return WriteIntegers(*p.out, memory, Places(p, boundaries, values));
  });
}

void LowerSearch(const SearchCall& p, RowLowering& rows) {
  rows.UseTypes({{"X", p.values->dtype}, {"Y", p.out->dtype}}, AccumulatorOf(p.values->dtype));
  rows.LaunchItems("search", Count(*p.values), rows.Read(*p.boundaries), rows.Read(*p.values),
                   rows.Write(*p.out), p.rows, p.n, Count(*p.values), p.width, p.right);
}

std::vector<OpCall> SearchSamples() {
  using samples::Bool, samples::None, samples::Text;
  std::vector<OpCall> calls;
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kInt64, DType::kInt32}) {
    samples::SampleTensors t;
    const TensorDesc values = t.Strided(dtype, {5, 7}, {1, 5});
    const TensorDesc row = t.Tensor(dtype, {13});
    const TensorDesc each = t.Tensor(dtype, {5, 9});
    const TensorDesc out = t.Tensor(DType::kInt64, {5, 7});
    const TensorDesc narrow = t.Tensor(DType::kInt32, {5, 7});
    for (const bool right : {false, true}) {
      calls.push_back({"aten::bucketize", {{values}, {row}, Bool(false), Bool(right)}, {{out}}});
      calls.push_back({"aten::searchsorted",
                       {{each}, {values}, Bool(true), Bool(right), None(), None()},
                       {{narrow}}});
    }
    calls.push_back({"aten::searchsorted",
                     {{row}, {values}, Bool(false), Bool(false), Text("right"), None()},
                     {{out}}});
  }
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeSearch() {
  return MakeParsedKernel({"search", "search.cl", SearchSamples},
                          CallForm<SearchCall>{ParseSearch, ReferenceSearch, LowerSearch});
}

}  // namespace reprise
