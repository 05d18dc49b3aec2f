#include "et_schema/arg_tape.h"

#include <bit>

#include "et_schema/wire.h"

namespace reprise {
namespace {

std::int64_t WrappingProduct(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// core's rule: an extent of 0 (or below) does not annul the strides to its left.
std::int64_t NextStride(std::int64_t stride, std::int64_t extent) {
  return extent > 0 ? WrappingProduct(stride, extent) : stride;
}

void PutNumbers(std::span<const std::int64_t> values, WireBuffer& out) {
  out.ZigZag(static_cast<std::int64_t>(values.size()));
  for (const std::int64_t value : values) {
    out.ZigZag(value);
  }
}

void EncodeList(const ValueList& values, TapeWriter& tape);

void EncodeValue(const Value& value, TapeWriter& tape) {
  if (value.IsNone()) {
    tape.Mark(TapeTag::kNone);
  } else if (const auto* b = std::get_if<bool>(&value.data)) {
    tape.Bool(*b);
  } else if (const auto* i = std::get_if<std::int64_t>(&value.data)) {
    tape.Int(*i);
  } else if (const auto* d = std::get_if<double>(&value.data)) {
    tape.Double(*d);
  } else if (const std::string* s = value.AsString()) {
    tape.Text(*s);
  } else if (const TensorDesc* t = value.AsTensor()) {
    TensorForm form;
    form.Set(t->dtype, t->shape);
    tape.Tensor(form, {.tensor_id = t->tensor_id,
                       .storage_id = t->storage_id,
                       .incarnation = t->incarnation,
                       .offset = t->offset,
                       .elements = t->elements,
                       .device = t->device,
                       .strides = t->strides,
                       .contiguous = HasContiguousStrides(t->shape, t->strides)});
  } else if (const ValueList* list = value.AsList()) {
    tape.Mark(TapeTag::kList);
    EncodeList(*list, tape);
  }
}

void EncodeList(const ValueList& values, TapeWriter& tape) {
  for (const Value& value : values) {
    EncodeValue(value, tape);
  }
  tape.Mark(TapeTag::kEnd);
}

class TapeReader {
 public:
  TapeReader(std::string_view form, std::string_view ids)
      : form_(form), ids_(ids), left_(form.size()) {}

  [[nodiscard]] bool List(ValueList& out) {
    for (TapeTag tag = Tag(); ok_ && tag != TapeTag::kEnd; tag = Tag()) {
      out.push_back(Element(tag));
    }
    return ok_;
  }

 private:
  TapeTag Tag() { return static_cast<TapeTag>(Byte()); }

  std::uint8_t Byte() {
    std::uint64_t bits = 0;  // tags, flags and dtypes are below 128
    ok_ = ok_ && form_.Varint(bits);
    return static_cast<std::uint8_t>(bits);
  }
  std::int64_t Signed(WireCursor& cursor) {
    std::uint64_t bits = 0;
    ok_ = ok_ && cursor.Varint(bits);
    return ZigZagDecode(bits);
  }
  std::string Text() {
    std::string_view bytes;
    ok_ = ok_ && form_.Bytes(bytes);
    return std::string(bytes);
  }
  std::vector<std::int64_t> Numbers() {
    const std::int64_t count = Signed(form_);
    ok_ = ok_ && count >= 0 && static_cast<std::uint64_t>(count) <= left_;
    std::vector<std::int64_t> out(ok_ ? static_cast<std::size_t>(count) : 0);
    for (std::int64_t& number : out) {
      number = Signed(form_);
    }
    return out;
  }

  Value Element(TapeTag tag) {
    switch (tag) {
      case TapeTag::kNone:
        return {};
      case TapeTag::kFalse:
      case TapeTag::kTrue:
        return {tag == TapeTag::kTrue};
      case TapeTag::kInt:
        return {Signed(form_)};
      case TapeTag::kDouble: {
        std::uint64_t bits = 0;
        ok_ = ok_ && form_.Scalar(WireType::kFixed64, bits);
        return {std::bit_cast<double>(bits)};
      }
      case TapeTag::kText:
        return {Text()};
      case TapeTag::kTensor:
        return {Tensor()};
      case TapeTag::kList: {
        ValueList inner;
        ok_ = List(inner);
        return {std::move(inner)};
      }
      default:
        ok_ = false;
        return {};
    }
  }

  TensorDesc Tensor() {
    TensorDesc t;
    const char flags = static_cast<char>(Byte());
    t.dtype = static_cast<DType>(Byte());
    t.shape = Numbers();
    t.device = Text();
    t.elements = (flags & kExplicitElements) != 0 ? Signed(form_) : WrappingElements(t.shape);
    t.strides = (flags & kExplicitStrides) != 0 ? Numbers() : WrappingStrides(t.shape);
    t.tensor_id = Signed(ids_);
    t.storage_id = Signed(ids_);
    t.incarnation = Signed(ids_);
    t.offset = Signed(ids_);
    return t;
  }

  WireCursor form_;
  WireCursor ids_;
  std::size_t left_;  // more elements than bytes there cannot be
  bool ok_ = true;
};

}  // namespace

void TapeWriter::Int(std::int64_t value) {
  Mark(TapeTag::kInt);
  tape_.form.ZigZag(value);
}

void TapeWriter::Double(double value) {
  Mark(TapeTag::kDouble);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  tape_.form.Bytes({reinterpret_cast<const char*>(&bits), sizeof(bits)});
}

void TapeWriter::Text(std::string_view value) {
  Mark(TapeTag::kText);
  tape_.form.Varint(value.size());
  tape_.form.Bytes(value);
}

void TensorForm::Set(DType dtype, std::span<const std::int64_t> shape) {
  WireBuffer buffer;
  buffer.Byte(static_cast<char>(dtype));
  PutNumbers(shape, buffer);
  bytes = buffer.bytes();
  elements = WrappingElements(shape);
}

void TapeWriter::Tensor(const TensorForm& form, const TensorView& tensor) {
  const bool explicit_elements = tensor.elements != form.elements;
  Mark(TapeTag::kTensor);
  tape_.form.Byte(static_cast<char>((explicit_elements ? kExplicitElements : 0) |
                                    (tensor.contiguous ? 0 : kExplicitStrides)));
  tape_.form.Bytes(form.bytes);
  tape_.form.Varint(tensor.device.size());
  tape_.form.Bytes(tensor.device);
  if (explicit_elements) {
    tape_.form.ZigZag(tensor.elements);
  }
  if (!tensor.contiguous) {
    PutNumbers(tensor.strides, tape_.form);
  }
  tape_.ids.ZigZag(tensor.tensor_id);
  tape_.ids.ZigZag(tensor.storage_id);
  tape_.ids.ZigZag(tensor.incarnation);
  tape_.ids.ZigZag(tensor.offset);
}

std::vector<std::int64_t> WrappingStrides(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride = NextStride(stride, shape[i]);
  }
  return strides;
}

std::int64_t WrappingElements(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    count = WrappingProduct(count, extent);
  }
  return count;
}

bool HasContiguousStrides(std::span<const std::int64_t> shape,
                          std::span<const std::int64_t> strides) {
  if (shape.size() != strides.size()) {
    return false;
  }
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (strides[i] != stride) {
      return false;
    }
    stride = NextStride(stride, shape[i]);
  }
  return true;
}

void EncodeArgs(const ValueList& inputs, const ValueList& outputs, ArgTape& tape) {
  tape.Clear();
  if (inputs.empty() && outputs.empty()) {
    return;
  }
  TapeWriter writer(tape);
  EncodeList(inputs, writer);
  EncodeList(outputs, writer);
}

bool DecodeArgs(std::string_view form, std::string_view ids, ValueList& inputs,
                ValueList& outputs) {
  inputs.clear();
  outputs.clear();
  if (form.empty()) {  // a node without arguments
    return ids.empty();
  }
  TapeReader reader(form, ids);
  return reader.List(inputs) && reader.List(outputs);
}

}  // namespace reprise
