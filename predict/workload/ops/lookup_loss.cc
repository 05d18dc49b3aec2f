// Embeddings, convolution of patches and losses.
#include "predict/workload/ops/model_operators.h"

namespace reprise {

Var Embedding(Builder& b, Parameter& weight, const TensorDesc& ids) {
  b.Op();
  std::vector<std::int64_t> shape = ids.shape;
  shape.push_back(weight.shape[1]);
  const TensorDesc result = b.out.Work("aten::embedding", Args(weight.value, ids, -1, false, false),
                                       b.out.New(weight.value.dtype, shape));
  return b.Record("EmbeddingBackward0", {Var{.parameter = &weight}}, result,
                  [&b, ids, &weight](const TensorDesc& gradient) {
                    b.out.parent = "aten::embedding_backward";
                    return Fresh(b.out.Work("aten::embedding_dense_backward",
                                            Args(gradient, ids, weight.shape[0], -1, false),
                                            b.NewLike(weight.value)));
                  });
}

Var EmbeddingBag(Builder& b, Parameter& weight, const TensorDesc& ids, const TensorDesc& offsets) {
  b.Op("aten::embedding_bag");
  const std::int64_t bags = offsets.shape[0];
  const TensorDesc result = b.out.New(weight.value.dtype, {bags, weight.shape[1]});
  const TensorDesc offset2bag = b.out.New(DType::kInt64, ids.shape);
  const TensorDesc bag_size = b.out.New(DType::kInt64, {bags});
  const TensorDesc max_indices = b.out.New(DType::kInt64, {bags});
  b.out.Work("aten::_embedding_bag",
             Args(weight.value, ids, offsets, false, 0, false, kNoValue, false, -1),
             Args(result, offset2bag, bag_size, max_indices));
  return b.Record(
      "EmbeddingBagBackward0", {Var{.parameter = &weight}}, result,
      [&b, ids, offset2bag, bag_size, max_indices, &weight](const TensorDesc& gradient) {
        return Fresh(b.out.Work("aten::_embedding_bag_dense_backward",
                                Args(gradient, ids, offset2bag, bag_size, max_indices,
                                     weight.shape[0], false, 0, kNoValue, -1),
                                b.NewLike(weight.value)));
      });
}

Var PatchConvolution(Builder& b, const TensorDesc& images, Parameter& weight, Parameter& bias) {
  b.Op("aten::convolution");
  const std::int64_t patch = weight.shape[2];
  const std::int64_t side = images.shape[2] / patch;
  const TensorDesc result = b.out.New(images.dtype, {images.shape[0], weight.shape[0], side, side});
  const Ints strides = {patch, patch};
  const Ints zeros = {0, 0};
  const Ints ones = {1, 1};
  b.out.facts.copies = weight.copies;
  if (b.out.cuda()) {
    b.out.Work("aten::cudnn_convolution",
               Args(images, weight.value, zeros, strides, ones, 1, false, false, true),
               Args(result));
    b.out.parent = "aten::_convolution";
    const TensorDesc shaped = b.Shaped(bias.value, {1, weight.shape[0], 1, 1}, "aten::reshape");
    b.out.InPlace("aten::add_", result, shaped, 1);
  } else {
    b.out.Work("aten::mkldnn_convolution",
               Args(images, weight.value, bias.value, zeros, strides, ones, 1), Args(result));
  }
  b.out.facts.copies = 1;
  return b.Record("ConvolutionBackward0", {Var{.parameter = &weight}, Var{.parameter = &bias}},
                  result,
                  [&b, images, &weight, &bias, strides, zeros, ones](const TensorDesc& gradient) {
                    const TensorDesc dw = b.NewLike(weight.value);
                    const TensorDesc db = b.NewLike(bias.value);
                    // The images need no gradient.
                    b.out.facts.copies = weight.copies;
                    b.out.Work("aten::convolution_backward",
                               Args(gradient, images, weight.value, bias.shape, strides, zeros,
                                    ones, false, zeros, 1, Args(false, true, true)),
                               Args(kNoValue, dw, db));
                    b.out.facts.copies = 1;
                    return std::vector<Grad>{{dw, true}, {db, true}};
                  });
}

Var CrossEntropy(Builder& b, const Var& logits, const TensorDesc& labels) {
  const Var scores = ToType(b, logits, DType::kFloat32);
  const Var logs = LogSoftmax(b, scores);
  b.Op("aten::nll_loss");
  const TensorDesc loss = b.out.New(DType::kFloat32, {});
  const TensorDesc weight = b.out.New(DType::kFloat32, {});
  b.out.Work("aten::nll_loss_forward", Args(logs.tensor, labels, kNoValue, 1, -100),
             Args(loss, weight));
  return b.Record(
      "NllLossBackward0", {logs}, loss,
      [&b, log_softmax = logs.tensor, labels, weight](const TensorDesc& gradient) {
        return Fresh(b.out.Work("aten::nll_loss_backward",
                                Args(gradient, log_softmax, labels, kNoValue, 1, -100, weight),
                                b.NewLike(log_softmax)));
      });
}

Var MeanSquaredError(Builder& b, const Var& x, const TensorDesc& target) {
  static constexpr std::int64_t kMean = 1;
  const Var real = ToType(b, x, DType::kFloat32);
  const TensorDesc wanted = ToType(b, {.tensor = target}, DType::kFloat32).tensor;
  b.Op();
  const TensorDesc loss = b.out.Work("aten::mse_loss", Args(real.tensor, wanted, kMean),
                                     b.out.New(DType::kFloat32, {}));
  const TensorDesc input = real.tensor;
  return b.Record(
      "MseLossBackward0", {real}, loss, [&b, input, wanted](const TensorDesc& gradient) {
        return Fresh(b.out.Work("aten::mse_loss_backward", Args(gradient, input, wanted, kMean),
                                b.NewLike(input)));
      });
}

Var BinaryCrossEntropy(Builder& b, const Var& logits, const TensorDesc& labels) {
  b.Op();
  const TensorDesc loss =
      b.out.Work("aten::binary_cross_entropy", Args(logits.tensor, labels, kNoValue, 1),
                 b.out.New(logits.tensor.dtype, {}));
  const TensorDesc input = logits.tensor;
  return b.Record(
      "BinaryCrossEntropyBackward0", {logits}, loss,
      [&b, input, labels](const TensorDesc& gradient) {
        return Fresh(b.out.Work("aten::binary_cross_entropy_backward",
                                Args(gradient, input, labels, kNoValue, 1), b.NewLike(input)));
      });
}

}  // namespace reprise
