#include "kernels/torch/torch_call.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <vector>

#include "kernels/torch/adopting_buffer.h"
#include "kernels/torch/torch_operators.h"
#include "kernels/views.h"

namespace reprise {
namespace {

// Of the widest operator, and what a later release may add to it.
constexpr std::size_t kStackWords = 32;

// One recorded call, ready to be made again and again.
class TorchCall {
 public:
  TorchCall(std::shared_ptr<const TorchLibrary> library, const TorchOperator& op, OpCall call,
            TorchResults results)
      : library_(std::move(library)),
        op_(op),
        function_(TorchFunctionOf(*library_, op)),
        call_(std::move(call)),
        results_(results) {}

  // False if a storage is not in memory of a device that PyTorch has.
  bool Bind(const Bindings& memory) {
    const auto bind = [&](const TensorDesc* tensor, std::vector<Operand>& operands) {
      auto* buffer = dynamic_cast<AdoptingBuffer*>(memory.Find(tensor->incarnation));
      operands.push_back({tensor, buffer, nullptr, {}});
      return buffer != nullptr;
    };
    bool bound = true;
    for (const TensorDesc* tensor : TensorsIn(call_.inputs)) {
      bound = bound && bind(tensor, inputs_);
    }
    for (std::size_t i = 0; bound && i < call_.outputs.size(); ++i) {
      const TensorDesc* tensor = call_.OutputTensor(i);
      bound = tensor == nullptr || bind(tensor, outputs_);
      is_new_.push_back(tensor != nullptr && IsNew(i));
    }
    return bound;
  }

  // Prepares the arguments; Run() reports an error of this.
  void Prepare() {
    next_input_ = 0;
    prepared_ = op_.form == TorchForm::kDispatched ? FillStack() : FillHandles();
  }
  // Once after each Prepare().
  Status Run() {
    REPRISE_TRY(prepared_);
    return op_.form == TorchForm::kDispatched ? RunDispatched() : RunFunction();
  }

 private:
  struct Operand {
    const TensorDesc* desc;
    AdoptingBuffer* buffer;
    std::byte* at;  // where `wrapped` is
    TorchTensor wrapped;
  };

  Status FillStack();
  Status FillHandles();
  Status RunDispatched();
  Status RunFunction();
  Result<const TorchTensor*> Wrapped(Operand& operand) const;
  Result<const TorchTensor*> NextInput() { return Wrapped(inputs_.at(next_input_++)); }
  Result<TorchWord> WordOf(char kind, bool optional, const Value& value);
  Result<TorchWord> ListOf(char kind, const Value& value);
  // The results to where the recorded ones are.
  Status KeepAll(std::span<TorchTensor> results);
  Status Keep(Operand& output, bool is_new, TorchTensor result);
  [[nodiscard]] bool IsNew(std::size_t i) const;

  const std::shared_ptr<const TorchLibrary> library_;
  const TorchOperator& op_;
  void (*const function_)();  // null: dispatched
  const OpCall call_;
  const TorchResults results_;
  std::vector<Operand> inputs_;  // tensors as they come, those of lists too
  std::size_t next_input_ = 0;   // of the run under way, as the three after it
  Status prepared_;
  std::array<TorchWord, kStackWords> stack_{};
  std::array<void*, 3> handles_{};
  std::vector<Operand> outputs_;
  std::vector<bool> is_new_;  // by result
};

// Memory moves when results are adopted, and then only.
Result<const TorchTensor*> TorchCall::Wrapped(Operand& operand) const {
  const TensorDesc& desc = *operand.desc;
  REPRISE_ASSIGN(std::byte* const data, operand.buffer->Data());
  if (operand.at != data) {
    if (const Status holds = CheckHolds(desc, operand.buffer->size_bytes()); !holds) {
      return UsageError(call_.name + ": " + holds.error().message);
    }
    REPRISE_ASSIGN(operand.wrapped, library_->Wrap(desc, data));
    operand.at = data;
  }
  return &operand.wrapped;
}

Result<TorchWord> TorchCall::ListOf(char kind, const Value& value) {
  const ValueList* list = value.AsList();
  std::vector<TorchWord> words;
  for (std::size_t i = 0; i < (list == nullptr ? 1 : list->size()); ++i) {
    const Value& element = list == nullptr ? value : (*list)[i];
    const char of = kind == 'I' ? 'i' : kind == 'B' ? 'b' : 'T';
    REPRISE_ASSIGN(const TorchWord word, WordOf(of, kind == 'U', element));
    words.push_back(word);
  }
  return library_->List(words);
}

Result<TorchWord> TorchCall::WordOf(char kind, bool optional, const Value& value) {
  if (optional) {
    if (IsMissing(value)) {
      return TorchWord{0};
    }
    REPRISE_ASSIGN(const TorchWord word, WordOf(kind, false, value));
    return TorchLibrary::Optional(word);
  }
  switch (kind) {
    case 'N':
      if (IsMissing(value)) {
        return library_->Undefined();
      }
      [[fallthrough]];
    case 'T': {
      REPRISE_ASSIGN(const TorchTensor* tensor, NextInput());
      return library_->Word(*tensor);
    }
    case 's':
      return library_->Word(*value.AsString());
    case 'd':
      return *library_->Word(FromScalarType(value.AsNumber<std::int64_t>(0)));
    case 'g':
      return TorchWord{0};
    case 'f':
      return std::bit_cast<TorchWord>(value.AsNumber<double>(0));
    case 'b':
      return TorchWord{value.AsNumber<std::int64_t>(0) != 0};
    case 'i':
      return static_cast<TorchWord>(value.AsNumber<std::int64_t>(0));
    default:
      return ListOf(kind, value);
  }
}

Status TorchCall::FillStack() {
  stack_.fill(TorchWord{});
  std::size_t n = 0;
  Status status;
  WalkArguments(op_, call_.inputs, [&](char kind, bool optional, const Value& value) {
    const auto word = WordOf(kind, optional, value);
    if (!word) {
      status = tl::unexpected(word.error());
      return false;
    }
    stack_.at(n++) = *word;
    return true;
  });
  return status;
}

Status TorchCall::RunDispatched() {
  REPRISE_TRY(library_->Call(op_.name.c_str(), op_.overload.c_str(), stack_));
  std::vector<TorchTensor> results;
  for (std::size_t i = 0; i < op_.results.size(); ++i) {
    results.push_back(op_.results[i] == 'T' ? library_->Take(stack_.at(i)) : TorchTensor());
  }
  return KeepAll(results);
}

Status TorchCall::FillHandles() {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    REPRISE_ASSIGN(const TorchTensor* tensor, NextInput());
    handles_.at(i) = tensor->handle();
  }
  return {};
}

Status TorchCall::RunFunction() {
  const auto number = [&](std::size_t i) { return call_.inputs[i].AsNumber<double>(0); };
  TorchTensor made;
  void* result = nullptr;
  int code = 0;
  switch (op_.form) {
    case TorchForm::kProductInto: {
      using Function = int(void*, void*, void*, void*, double, double);
      REPRISE_ASSIGN(made, library_->New(*call_.OutputTensor(0)));
      code = reinterpret_cast<Function*>(function_)(made.handle(), handles_[0], handles_[1],
                                                    handles_[2], number(3), number(4));
      break;
    }
    case TorchForm::kTwoTensors: {
      using Function = int(void*, void*, double, void**);
      code = reinterpret_cast<Function*>(function_)(handles_[0], handles_[1], number(2), &result);
      break;
    }
    case TorchForm::kOneTensor: {
      using Function = int(void*, double, void**);
      code = reinterpret_cast<Function*>(function_)(handles_[0], number(1), &result);
      break;
    }
    default: {
      using Function = int(void*, double);
      code = reinterpret_cast<Function*>(function_)(handles_[0], number(1));
      break;
    }
  }
  REPRISE_TRY(library_->Check(code, call_.name));
  if (result != nullptr) {
    made = TorchTensor(library_.get(), result);
  }
  return made.handle() == nullptr ? Status() : KeepAll({&made, 1});
}

// No input is in its storage, and no result before it, the last one bound.
bool TorchCall::IsNew(std::size_t i) const {
  const std::int64_t incarnation = call_.outputs[i].AsTensor()->incarnation;
  const auto has_it = [&](const Operand& operand) {
    return operand.desc->incarnation == incarnation;
  };
  return std::none_of(inputs_.begin(), inputs_.end(), has_it) &&
         std::none_of(outputs_.begin(), outputs_.end() - 1, has_it);
}

Status TorchCall::KeepAll(std::span<TorchTensor> results) {
  std::size_t output = 0;
  for (std::size_t i = 0; i < std::min(results.size(), call_.outputs.size()); ++i) {
    if (call_.OutputTensor(i) != nullptr) {
      REPRISE_TRY(Keep(outputs_[output++], is_new_[i], std::move(results[i])));
    }
  }
  return {};
}

Status TorchCall::Keep(Operand& output, bool is_new, TorchTensor result) {
  const TensorDesc& desc = *output.desc;
  if (ElementCount(desc.shape) == 0 || (is_new && results_ == TorchResults::kDrop)) {
    return {};
  }
  const std::int64_t offset_bytes = desc.offset * SizeOf(desc.dtype);
  std::byte* const data = result.data();
  if (!is_new) {
    REPRISE_ASSIGN(const std::byte* const there, output.buffer->Data());
    if (data == there + offset_bytes) {
      return {};  // in place
    }
  }
  const std::int64_t bytes = result.storage_bytes();
  const std::int64_t end = (desc.offset + ExtentElements(desc)) * SizeOf(desc.dtype);
  if (is_new && result.LooksLike(desc) && bytes >= end) {
    auto owner = std::make_shared<TorchTensor>(std::move(result));
    if (output.buffer->Adopt({data - offset_bytes, bytes, owner})) {
      return {};
    }
    result = std::move(*owner);
  }
  REPRISE_ASSIGN(const TorchTensor* to, Wrapped(output));
  return library_->Copy(*to, result);
}

}  // namespace

std::optional<HostTask> TorchTask(const std::shared_ptr<const TorchLibrary>& library,
                                  const OpCall& call, const Bindings& memory,
                                  TorchResults results) {
  const TorchOperator* op = FindTorchOperator(*library, call);
  if (op == nullptr) {
    return std::nullopt;
  }
  auto bound = std::make_shared<TorchCall>(library, *op, call, results);
  if (!bound->Bind(memory)) {
    return std::nullopt;
  }
  return HostTask{.run = [bound] { return bound->Run(); }, .before = [bound] { bound->Prepare(); }};
}

}  // namespace reprise
