// Embeddings, convolution of patches and losses.
#include "workload/ops/model_operators.h"

namespace reprise {

Var Embedding(Builder& b, Parameter& weight, const TensorDesc& ids) {
  b.Op();
  std::vector<std::int64_t> shape = ids.shape;
  shape.push_back(weight.shape[1]);
  const TensorDesc result = b.out.New(weight.value.dtype, shape);
  b.out.Work("aten::embedding",
             {Of(weight.value), Of(ids), OfInt(-1), OfBool(false), OfBool(false)}, {Of(result)});
  return b.tape->Record("EmbeddingBackward0", {Var{.parameter = &weight}}, {result},
                        [&b, ids, &weight](std::vector<Grad>& results) {
                          b.out.parent = "aten::embedding_backward";
                          const TensorDesc dw = b.NewLike(weight.value);
                          b.out.Work("aten::embedding_dense_backward",
                                     {Of(*results[0].tensor), Of(ids), OfInt(weight.shape[0]),
                                      OfInt(-1), OfBool(false)},
                                     {Of(dw)});
                          return std::vector<Grad>{{dw, true}};
                        })[0];
}

Var EmbeddingBag(Builder& b, Parameter& weight, const TensorDesc& ids, const TensorDesc& offsets) {
  b.Op("aten::embedding_bag");
  const std::int64_t bags = offsets.shape[0];
  const TensorDesc result = b.out.New(weight.value.dtype, {bags, weight.shape[1]});
  const TensorDesc offset2bag = b.out.New(DType::kInt64, ids.shape);
  const TensorDesc bag_size = b.out.New(DType::kInt64, {bags});
  const TensorDesc max_indices = b.out.New(DType::kInt64, {bags});
  b.out.Work("aten::_embedding_bag",
             {Of(weight.value),
              Of(ids),
              Of(offsets),
              OfBool(false),
              OfInt(0),
              OfBool(false),
              {},
              OfBool(false),
              OfInt(-1)},
             {Of(result), Of(offset2bag), Of(bag_size), Of(max_indices)});
  return b.tape->Record(
      "EmbeddingBagBackward0", {Var{.parameter = &weight}}, {result},
      [&b, ids, offset2bag, bag_size, max_indices, &weight](std::vector<Grad>& results) {
        const TensorDesc dw = b.NewLike(weight.value);
        b.out.Work("aten::_embedding_bag_dense_backward",
                   {Of(*results[0].tensor),
                    Of(ids),
                    Of(offset2bag),
                    Of(bag_size),
                    Of(max_indices),
                    OfInt(weight.shape[0]),
                    OfBool(false),
                    OfInt(0),
                    {},
                    OfInt(-1)},
                   {Of(dw)});
        return std::vector<Grad>{{dw, true}};
      })[0];
}

Var PatchConvolution(Builder& b, const TensorDesc& images, Parameter& weight, Parameter& bias) {
  b.Op("aten::convolution");
  const std::int64_t patch = weight.shape[2];
  const std::int64_t side = images.shape[2] / patch;
  const TensorDesc result = b.out.New(images.dtype, {images.shape[0], weight.shape[0], side, side});
  const Value strides = OfInts({patch, patch});
  const Value zeros = OfInts({0, 0});
  const Value ones = OfInts({1, 1});
  b.out.facts.copies = weight.copies;
  if (b.out.cuda()) {
    b.out.Work("aten::cudnn_convolution",
               {Of(images), Of(weight.value), zeros, strides, ones, OfInt(1), OfBool(false),
                OfBool(false), OfBool(true)},
               {Of(result)});
    b.out.parent = "aten::_convolution";
    const TensorDesc shaped = b.out.Part(bias.value, 0, {1, weight.shape[0], 1, 1});
    b.out.Host("aten::reshape", {Of(bias.value), OfInts(shaped.shape)}, {Of(shaped)});
    b.out.Work("aten::add_", {Of(result), Of(shaped), OfInt(1)}, {Of(result)});
  } else {
    b.out.Work("aten::mkldnn_convolution",
               {Of(images), Of(weight.value), Of(bias.value), zeros, strides, ones, OfInt(1)},
               {Of(result)});
  }
  b.out.facts.copies = 1;
  return b.tape->Record(
      "ConvolutionBackward0", {Var{.parameter = &weight}, Var{.parameter = &bias}}, {result},
      [&b, images, &weight, &bias, strides, zeros, ones](std::vector<Grad>& results) {
        const TensorDesc dw = b.NewLike(weight.value);
        const TensorDesc db = b.NewLike(bias.value);
        // The images need no gradient.
        b.out.facts.copies = weight.copies;
        b.out.Work("aten::convolution_backward",
                   {Of(*results[0].tensor), Of(images), Of(weight.value), OfInts(bias.shape),
                    strides, zeros, ones, OfBool(false), zeros, OfInt(1),
                    Value{ValueList{OfBool(false), OfBool(true), OfBool(true)}}},
                   {{}, Of(dw), Of(db)});
        b.out.facts.copies = 1;
        return std::vector<Grad>{{dw, true}, {db, true}};
      })[0];
}

Var CrossEntropy(Builder& b, const Var& logits, const TensorDesc& labels) {
  const Var scores = ToType(b, logits, DType::kFloat32);
  b.Op("aten::log_softmax");
  const TensorDesc log_softmax = b.NewLike(scores.tensor);
  b.out.Work("aten::_log_softmax", {Of(scores.tensor), OfInt(1), OfBool(false)}, {Of(log_softmax)});
  const Var logs = b.tape->Record(
      "LogSoftmaxBackward0", {scores}, {log_softmax},
      [&b, log_softmax](std::vector<Grad>& results) {
        const TensorDesc dx = b.NewLike(log_softmax);
        b.out.Work("aten::_log_softmax_backward_data",
                   {Of(*results[0].tensor), Of(log_softmax), OfInt(1), OfInt(6)}, {Of(dx)});
        return std::vector<Grad>{{dx, true}};
      })[0];
  b.Op("aten::nll_loss");
  const TensorDesc loss = b.out.New(DType::kFloat32, {});
  const TensorDesc weight = b.out.New(DType::kFloat32, {});
  b.out.Work("aten::nll_loss_forward", {Of(logs.tensor), Of(labels), {}, OfInt(1), OfInt(-100)},
             {Of(loss), Of(weight)});
  return b.tape->Record("NllLossBackward0", {logs}, {loss},
                        [&b, log_softmax, labels, weight](std::vector<Grad>& results) {
                          const TensorDesc dx = b.NewLike(log_softmax);
                          b.out.Work("aten::nll_loss_backward",
                                     {Of(*results[0].tensor),
                                      Of(log_softmax),
                                      Of(labels),
                                      {},
                                      OfInt(1),
                                      OfInt(-100),
                                      Of(weight)},
                                     {Of(dx)});
                          return std::vector<Grad>{{dx, true}};
                        })[0];
}

Var BinaryCrossEntropy(Builder& b, const Var& logits, const TensorDesc& labels) {
  b.Op();
  const TensorDesc loss = b.out.New(logits.tensor.dtype, {});
  b.out.Work("aten::binary_cross_entropy", {Of(logits.tensor), Of(labels), {}, OfInt(1)},
             {Of(loss)});
  const TensorDesc input = logits.tensor;
  return b.tape->Record("BinaryCrossEntropyBackward0", {logits}, {loss},
                        [&b, input, labels](std::vector<Grad>& results) {
                          const TensorDesc dx = b.NewLike(input);
                          b.out.Work("aten::binary_cross_entropy_backward",
                                     {Of(*results[0].tensor), Of(input), Of(labels), {}, OfInt(1)},
                                     {Of(dx)});
                          return std::vector<Grad>{{dx, true}};
                        })[0];
}

}  // namespace reprise
