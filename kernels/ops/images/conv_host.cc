#include <string>

#include "kernels/cpu/onednn.h"
#include "kernels/ops/images/conv_call.h"
#include "kernels/ops/products/gemm_host.h"
#include "kernels/tensor_access.h"

namespace reprise {
namespace {

using dnnl::memory;
using dnnl::prop_kind;

dnnl::engine& Engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

memory::data_type TypeOf(DType dtype) {
  return dtype == DType::kBFloat16 ? memory::data_type::bf16 : memory::data_type::f32;
}

// A tensor as oneDNN's memory, in place; and the same shape in a layout of oneDNN's choice.
class Operand {
 public:
  static Result<Operand> Bind(const ConvTensor& t, const HostBindings& memory,
                              std::int64_t groups) {
    REPRISE_ASSIGN(const HostTensor host, HostTensor::Bind(*t.tensor, memory));
    dnnl::memory::dims dims(t.shape.begin(), t.shape.end());
    dnnl::memory::dims strides(t.strides.begin(), t.strides.end());
    if (groups > 1) {  // weights: groups come first
      dims[0] /= groups;
      dims.insert(dims.begin(), groups);
      strides.insert(strides.begin(), strides[0] * dims[1]);
    }
    Operand x;
    const auto type = TypeOf(host.dtype());
    x.any_ = dnnl::memory::desc(dims, type, dnnl::memory::format_tag::any);
    x.own_ = dnnl::memory(dnnl::memory::desc(dims, type, strides), Engine(), host.first());
    return x;
  }
  [[nodiscard]] const memory::desc& any() const { return any_; }
  // The data in the layout that a primitive wants.
  [[nodiscard]] memory Read(const memory::desc& wanted, dnnl::stream& stream) const {
    if (own_.get_desc() == wanted) {
      return own_;
    }
    memory copy(wanted, Engine());
    dnnl::reorder(own_, copy).execute(stream, const_cast<memory&>(own_), copy);
    return copy;
  }
  // Where a primitive may write; Store then brings it home.
  [[nodiscard]] memory Writable(const memory::desc& wanted) const {
    return own_.get_desc() == wanted ? own_ : memory(wanted, Engine());
  }
  void Store(memory& from, dnnl::stream& stream) const {
    if (from.get_data_handle() != own_.get_data_handle()) {
      memory own = own_;
      dnnl::reorder(from, own).execute(stream, from, own);
    }
  }

 private:
  memory::desc any_;
  memory own_;
};

// Dense (channels), float32 or bfloat16.
Result<memory> BindVector(const TensorDesc& t, const HostBindings& memory) {
  REPRISE_ASSIGN(const HostTensor host, HostTensor::Bind(t, memory));
  const dnnl::memory::desc desc({t.shape[0]}, TypeOf(t.dtype), dnnl::memory::dims{1});
  return dnnl::memory(desc, Engine(), host.first());
}

class HostConv {
 public:
  HostConv(const ConvCall& c, const HostBindings& memory)
      : c_(c), memory_(memory), stream_(Engine()) {
    for (std::size_t d = 0; d < 2; ++d) {
      strides_.push_back(c.stride[d]);
      dilates_.push_back(c.dilation[d] - 1);
      before_.push_back(c.padding[d]);
      // What the window really reaches, as oneDNN wants it.
      after_.push_back((c.out[d] - 1) * c.stride[d] + (c.kernel[d] - 1) * c.dilation[d] + 1 -
                       c.in[d] - c.padding[d]);
    }
  }

  [[nodiscard]] Status Forward() {
    REPRISE_ASSIGN(const Operands o, Bind(c_.input, c_.weight, c_.result));
    dnnl::memory bias;
    if (!c_.transposed && c_.bias != nullptr) {
      REPRISE_ASSIGN(bias, BindVector(*c_.bias, memory_));
    }
    const auto desc = ForwardDesc(o, bias);
    Arguments args = {{DNNL_ARG_SRC, o.x.Read(desc.src_desc(), stream_)},
                      {DNNL_ARG_WEIGHTS, o.w.Read(desc.weights_desc(), stream_)}};
    if (bias.get(true) != nullptr) {
      args[DNNL_ARG_BIAS] = bias;
    }
    Run(dnnl::convolution_forward(desc), args, DNNL_ARG_DST, o.y, desc.dst_desc());
    return {};
  }

  [[nodiscard]] Status InputGrad() {
    REPRISE_ASSIGN(const Operands o, Bind(c_.input_grad, c_.weight, c_.output));
    const auto desc = BackwardDesc<dnnl::convolution_backward_data>(o);
    Run(dnnl::convolution_backward_data(desc),
        {{DNNL_ARG_DIFF_DST, o.y.Read(desc.diff_dst_desc(), stream_)},
         {DNNL_ARG_WEIGHTS, o.w.Read(desc.weights_desc(), stream_)}},
        DNNL_ARG_DIFF_SRC, o.x, desc.diff_src_desc());
    return c_.transposed && c_.bias != nullptr ? AddBias() : Status{};
  }

  // To a transposed convolution's result.
  [[nodiscard]] Status AddBias() {
    REPRISE_ASSIGN(const HostTensor result, HostTensor::Bind(*c_.input_grad.tensor, memory_));
    REPRISE_ASSIGN(const HostTensor bias, HostTensor::Bind(*c_.bias, memory_));
    for (std::int64_t b = 0; b < c_.images; ++b) {
      for (std::int64_t channel = 0; channel < bias.count(); ++channel) {
        const double term = bias.Get(bias.OffsetOfElement(channel));
        for (std::int64_t i = 0; i < c_.in[0] * c_.in[1]; ++i) {
          const std::int64_t at = c_.input_grad.At(b, channel, i / c_.in[1], i % c_.in[1]);
          result.Set(at, result.Get(at) + term);
        }
      }
    }
    return {};
  }

  [[nodiscard]] Status WeightGrad() {
    REPRISE_ASSIGN(const Operands o, Bind(c_.input, c_.weight_grad, c_.output));
    const auto desc = BackwardDesc<dnnl::convolution_backward_weights>(o);
    Run(dnnl::convolution_backward_weights(desc),
        {{DNNL_ARG_SRC, o.x.Read(desc.src_desc(), stream_)},
         {DNNL_ARG_DIFF_DST, o.y.Read(desc.diff_dst_desc(), stream_)}},
        DNNL_ARG_DIFF_WEIGHTS, o.w, desc.diff_weights_desc());
    return {};
  }

 private:
  using Arguments = std::unordered_map<int, memory>;
  // The ordinary convolution's input, weight and output, or their gradients.
  struct Operands {
    Operand x, w, y;
  };

  [[nodiscard]] Result<Operands> Bind(const ConvTensor& x, const ConvTensor& w,
                                      const ConvTensor& y) const {
    Operands o;
    REPRISE_ASSIGN(o.x, Operand::Bind(x, memory_, 1));
    REPRISE_ASSIGN(o.w, Operand::Bind(w, memory_, c_.groups));
    REPRISE_ASSIGN(o.y, Operand::Bind(y, memory_, 1));
    return o;
  }

  // The result is argument `written`, which the primitive wants in that layout.
  void Run(const dnnl::primitive& primitive, Arguments args, int written, const Operand& to,
           const memory::desc& wanted) {
    memory result = to.Writable(wanted);
    args[written] = result;
    primitive.execute(stream_, args);
    to.Store(result, stream_);
  }

  [[nodiscard]] dnnl::convolution_forward::primitive_desc ForwardDesc(const Operands& o,
                                                                      const memory& bias) const {
    const auto describe = [&](const auto&... biases) {
      return DescribeForward<dnnl::convolution_forward>(
          Engine(), prop_kind::forward_training, dnnl::algorithm::convolution_direct, o.x.any(),
          o.w.any(), biases..., o.y.any(), strides_, dilates_, before_, after_);
    };
    return bias.get(true) != nullptr ? describe(bias.get_desc()) : describe();
  }

  template <typename Primitive>
  [[nodiscard]] typename Primitive::primitive_desc BackwardDesc(const Operands& o) const {
    return DescribeBackward<Primitive>(Engine(), ForwardDesc(o, {}),
                                       dnnl::algorithm::convolution_direct, o.x.any(), o.w.any(),
                                       o.y.any(), strides_, dilates_, before_, after_);
  }

  const ConvCall& c_;
  const HostBindings& memory_;
  dnnl::stream stream_;
  memory::dims strides_, dilates_, before_, after_;
};

}  // namespace

Result<bool> RunConvOnHost(const ConvCall& c, const HostBindings& memory) {
  const bool empty = c.images == 0 || c.out_channels == 0 || c.in_channels == 0;
  // oneDNN's input gradient has no bias: added to what was already rounded to bfloat16, it would be
  // rounded twice.
  const bool twice = c.transposed && c.bias != nullptr && c.bias->dtype != DType::kFloat32;
  if (c.weight.tensor->dtype == DType::kFloat16 || empty || twice ||
      (c.bias != nullptr && c.bias->strides[0] != 1)) {
    return false;
  }
  SetHostThreads(2.0 * static_cast<double>(c.images * c.out[0] * c.out[1] * c.kernel[0]) *
                 static_cast<double>(c.groups * c.out_channels * c.in_channels * c.kernel[1]));
  try {
    HostConv conv(c, memory);
    if (c.result.tensor != nullptr) {
      REPRISE_TRY(conv.Forward());
    }
    if (c.input_grad.tensor != nullptr) {
      REPRISE_TRY(conv.InputGrad());
    }
    if (c.weight_grad.tensor != nullptr) {
      REPRISE_TRY(conv.WeightGrad());
    }
    if (c.bias_grad != nullptr) {
      REPRISE_TRY(SumChannels(c.transposed ? c.input : c.output, *c.bias_grad, memory));
    }
    return true;
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) {
      return false;
    }
    return EnvironmentError(std::string("oneDNN: ") + error.what());
  }
}

}  // namespace reprise
