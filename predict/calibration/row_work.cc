#include "predict/calibration/row_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/costs/cost.h"
#include "core/shown_text.h"

namespace reprise {
namespace {

// Elements that share a scale in block quantisation (DeepSeek-V3, arXiv 2412.19437, section 3.3).
constexpr std::int64_t kScaledTogether = 128;

Value Dense(std::vector<std::int64_t> shape, DType dtype) {
  TensorDesc tensor;
  tensor.incarnation = 0;
  tensor.elements = ElementCount(shape);
  tensor.dtype = dtype;
  tensor.strides = ContiguousStrides(shape);
  tensor.shape = std::move(shape);
  return {std::move(tensor)};
}

KernelRow OfCall(OpClass op_class, DType dtype, const OpCall& call) {
  const Cost cost = CostOf(call);
  return {.work = {.op_class = op_class,
                   .dtype = dtype,
                   .flops = cost.flops,
                   .bytes = cost.bytes,
                   .known = true,
                   .shape = WorkShapeOf(call)}};
}

class RowReader {
 public:
  RowReader(DType dtype, const RowFields& fields) : dtype_(dtype), fields_(fields) {}

  Result<KernelRow> Gemm() const {
    REPRISE_ASSIGN(const std::int64_t m, fields_.Size("m"));
    REPRISE_ASSIGN(const std::int64_t n, fields_.Size("n"));
    REPRISE_ASSIGN(const std::int64_t k, fields_.Size("k"));
    REPRISE_TRY(CheckSizes({m, n, k}));
    // Products of narrow types give 16 bits.
    const DType result = SizeOf(dtype_) < 2 ? DType::kBFloat16 : dtype_;
    const int packed = ValuesPerElement(dtype_);
    if (k % packed != 0) {
      return fields_.Wrong(fmt::format("k is {}; expected a multiple of {}, which {} packs", k,
                                       packed, Name(dtype_)));
    }
    return OfCall(OpClass::kGemm, dtype_,
                  {"aten::mm",
                   {Dense({m, k / packed}, dtype_), Dense({k / packed, n}, dtype_)},
                   {Dense({m, n}, result)}});
  }

  Result<KernelRow> Attention() const {
    REPRISE_ASSIGN(const std::int64_t batch, fields_.Size("batch"));
    REPRISE_ASSIGN(const std::int64_t queries, fields_.Size("queries"));
    REPRISE_ASSIGN(const std::int64_t heads, fields_.Size("heads"));
    REPRISE_ASSIGN(const std::int64_t kv_heads, fields_.Size("kv_heads"));
    REPRISE_ASSIGN(const std::int64_t head, fields_.Size("head_size"));
    REPRISE_TRY(CheckSizes({batch, queries, std::max(heads, kv_heads), head}));
    const Value q = Dense({batch, heads, queries, head}, dtype_);
    const Value kv = Dense({batch, kv_heads, queries, head}, dtype_);
    return OfCall(
        OpClass::kAttention, dtype_,
        {"aten::_scaled_dot_product_flash_attention", {q, kv, kv, Value{0.0}, Value{true}}, {q}});
  }

  // The largest of each block of a row: what block quantisation reads and writes.
  Result<KernelRow> Reduction() const {
    REPRISE_ASSIGN(const std::int64_t rows, fields_.Size("rows"));
    REPRISE_ASSIGN(const std::int64_t columns, fields_.Size("columns"));
    REPRISE_TRY(CheckSizes({rows, columns}));
    const std::int64_t together = std::min(columns, kScaledTogether);
    const std::int64_t blocks = (columns + together - 1) / together;
    return OfCall(OpClass::kReduction, dtype_,
                  {"aten::amax",
                   {Dense({rows, blocks, together}, dtype_),
                    Value{std::vector<Value>{Value{std::int64_t{2}}}}, Value{false}},
                   {Dense({rows, blocks}, dtype_)}});
  }

  Result<KernelRow> Collective() const {
    const std::string_view operation = fields_.Text("operation");
    const std::optional<CommKind> kind = ParseCommKind(operation);
    if (!kind || *kind == CommKind::kBarrier) {
      return fields_.Wrong(
          fmt::format("'{}' is no collective with a size; expected all_reduce, all_gather, … "
                      "(`reprise list collectives`)",
                      ShownText(operation)));
    }
    REPRISE_ASSIGN(const std::int64_t members, fields_.Size("members"));
    constexpr std::int64_t kMostMembers = 1 << 20;
    if (members < 2 || members > kMostMembers || (IsPointToPoint(*kind) && members != 2)) {
      return fields_.Wrong(fmt::format("{} members of a {}; expected {}", members, Name(*kind),
                                       IsPointToPoint(*kind) ? "2" : "2 or more"));
    }
    const bool in_elements = fields_.Has("elements");
    REPRISE_ASSIGN(const std::int64_t size, fields_.Size(in_elements ? "elements" : "bytes"));
    const double bytes =
        static_cast<double>(size) * static_cast<double>(in_elements ? SizeOf(dtype_) : 1);
    KernelRow row{
        .work = {.op_class = OpClass::kOther, .dtype = dtype_, .bytes = bytes, .known = true}};
    row.collective = CollectiveCall{*kind, static_cast<std::int32_t>(members), bytes};
    return row;
  }

  Result<KernelRow> Experts() const {
    ExpertCall call;
    for (const auto& [name, size] : {std::pair("tokens", &call.tokens),
                                     {"hidden", &call.hidden},
                                     {"inner", &call.inner},
                                     {"top_k", &call.top_k},
                                     {"experts", &call.experts},
                                     {"tp", &call.tp},
                                     {"ep", &call.ep}}) {
      REPRISE_ASSIGN(*size, fields_.Size(name));
    }
    REPRISE_TRY(CheckSizes({call.tokens, call.top_k, call.hidden, call.inner}));
    REPRISE_TRY(CheckSizes({call.experts, call.hidden, call.inner}));
    if (call.top_k > call.experts || call.experts % call.ep != 0 || call.inner % call.tp != 0) {
      return fields_.Wrong(fmt::format(
          "{} of {} experts a token, divided by ep {}, each of inner size {} by tp {}; expected "
          "top_k <= experts, ep to divide experts and tp the inner size",
          call.top_k, call.experts, call.ep, call.inner, call.tp));
    }
    const std::string_view distribution = fields_.Text("distribution");
    call.balanced = distribution == "balanced" || distribution == "uniform";
    if (!call.balanced && !distribution.starts_with("power_law")) {
      return fields_.Wrong(
          fmt::format("distribution is '{}'; expected balanced, uniform or power_law_…",
                      ShownText(distribution)));
    }
    KernelRow row;
    row.work = {.op_class = OpClass::kOther,
                .dtype = dtype_,
                .flops = WorkOf(call, dtype_).flops,
                .known = true};
    row.experts = call;
    return row;
  }

 private:
  // No tensor of such sizes has more elements than can be counted.
  [[nodiscard]] Status CheckSizes(std::initializer_list<std::int64_t> sizes) const {
    constexpr double kMostElements = 1e18;
    double product = 1;
    for (const std::int64_t size : sizes) {
      product *= static_cast<double>(size);
    }
    if (product > kMostElements) {
      return fields_.Wrong("sizes whose product is beyond 10^18: no device has such an operation");
    }
    return {};
  }

  DType dtype_;
  const RowFields& fields_;
};

}  // namespace

OpClass OpClassOf(TableClass of_class) {
  switch (of_class) {
    case TableClass::kGemm:
      return OpClass::kGemm;
    case TableClass::kAttention:
      return OpClass::kAttention;
    case TableClass::kReduction:
      return OpClass::kReduction;
    case TableClass::kExperts:
    case TableClass::kCollective:
      break;
  }
  return OpClass::kOther;
}

Result<KernelRow> RowOf(TableClass of_class, DType dtype, const RowFields& fields) {
  const RowReader reader(dtype, fields);
  switch (of_class) {
    case TableClass::kGemm:
      return reader.Gemm();
    case TableClass::kAttention:
      return reader.Attention();
    case TableClass::kReduction:
      return reader.Reduction();
    case TableClass::kExperts:
      return reader.Experts();
    case TableClass::kCollective:
      break;
  }
  return reader.Collective();
}

}  // namespace reprise
