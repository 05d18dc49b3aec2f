// What becomes of each recorded operation: a node, a frame, part of another, a transfer.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "converters/pytorch/rank/stages.h"

namespace reprise::pytorch {
namespace {

// What lies below an operation.
struct Below {
  bool work = false;
  bool convolution = false;
  bool comm = false;
  bool subclass = false;  // dispatched to a Python tensor subclass (DTensor, …)
  bool cast = false;      // called again by itself, with arguments of other types (autocast)
};

class Classifier {
 public:
  explicit Classifier(RankCapture& rank)
      : rank_(rank), list_(rank.list.operations), out_(rank.roles) {}

  void Run() {
    const std::size_t count = list_.size();
    out_.resize(count);
    below_.resize(count);
    unknown_.resize(count);
    for (std::size_t i = count; i-- > 0;) {  // children before callers
      Describe(i);
    }
    for (std::size_t i = 0; i < count; ++i) {  // callers before children
      out_[i].role = Decide(i);
      out_[i].subclass = below_[i].subclass || *list_[i].name == "PythonSubclass";
    }
  }

 private:
  // Names repeat: one look-up in the operator table each.
  std::optional<OpInfo> Find(const std::string* name) {
    const auto [it, inserted] = known_.try_emplace(name);
    if (inserted) {
      it->second = FindOperator(*name);
    }
    return it->second;
  }

  bool LooksLikeWork(const Operation& op, const Below& below) const {
    if (op.host < 0 || op.annotation || below.work || below.comm || op.end_ns == op.start_ns) {
      return false;
    }
    const HostNode& node = *rank_.HostOf(op);
    const auto has_tensor = [](const ValueList& values) {
      return std::any_of(values.begin(), values.end(), [](const Value& value) {
        return value.AsTensor() != nullptr || value.AsList() != nullptr;
      });
    };
    return node.scope == Scope::kFunction && !node.op_schema->empty() &&
           op.name->find("::") != std::string::npos &&
           (has_tensor(node.inputs) || has_tensor(node.outputs));
  }

  // _convolution(input, weight, bias, stride, padding, dilation, transposed, …) is a frame around
  // the operator that convolves, but on a CPU it calls oneDNN itself where it is transposed.
  bool IsTransposedConvolution(const Operation& op, const Below& below) const {
    constexpr std::size_t kTransposed = 6;
    if (op.host < 0 || below.convolution || *op.name != "aten::_convolution") {
      return false;
    }
    const ValueList& inputs = rank_.HostOf(op)->inputs;
    return inputs.size() > kTransposed && inputs[kTransposed].AsNumber<std::int64_t>(0) != 0;
  }

  // Autocast's own aten::addmm(float, float, float) converts its arguments and calls the
  // aten::addmm(bfloat16, …) that computes.
  [[nodiscard]] bool IsCastCall(const Operation& caller, const Operation& op) const {
    if (caller.host < 0 || op.host < 0 || *caller.name != *op.name) {
      return false;
    }
    const ValueList& outer = rank_.HostOf(caller)->inputs;
    const ValueList& inner = rank_.HostOf(op)->inputs;
    for (std::size_t i = 0; i < std::min(outer.size(), inner.size()); ++i) {
      const TensorDesc* before = outer[i].AsTensor();
      const TensorDesc* after = inner[i].AsTensor();
      if (before != nullptr && after != nullptr && before->dtype != after->dtype) {
        return true;
      }
    }
    return false;
  }

  void Describe(std::size_t i) {
    const Operation& op = list_[i];
    Below& below = below_[i];
    std::optional<OpInfo> info = Find(op.name);
    if (IsTransposedConvolution(op, below)) {
      info = OpInfo{.op_class = OpClass::kConv, .kind = OpKind::kWork};
    }
    if (!info) {
      unknown_[i] = true;
      info = OpInfo{.op_class = OpClass::kOther,
                    .kind = LooksLikeWork(op, below) ? OpKind::kWork : OpKind::kComposite};
    }
    out_[i].info = *info;
    if (op.parent >= 0) {
      Below& caller = below_[static_cast<std::size_t>(op.parent)];
      caller.cast |= IsCastCall(rank_.Op(op.parent), op);
      caller.work |= below.work || info->kind == OpKind::kWork;
      caller.convolution |= below.convolution || info->op_class == OpClass::kConv;
      caller.comm |= below.comm || (info->kind == OpKind::kComm && !op.transfer);
      caller.subclass |= below.subclass || *op.name == "PythonSubclass";
    }
  }

  Role Decide(std::size_t i) {
    const Operation& op = list_[i];
    if (op.transfer) {
      return Role::kTransfer;
    }
    if (op.parent >= 0) {
      const Role caller = out_[static_cast<std::size_t>(op.parent)].role;
      if (caller != Role::kFrame) {
        return Role::kPart;
      }
    }
    if (unknown_[i]) {
      CountUnknown(op, out_[i].info);
    }
    const Below& below = below_[i];
    switch (out_[i].info.kind) {
      case OpKind::kComposite:
        return Role::kFrame;
      case OpKind::kComm:
        // _c10d_functional::all_reduce > c10d::allreduce_: the inner one issues the transfer, and
        // what surrounds it (the clone of the input) is work of its own.
        return below.comm && !op.name->starts_with("c10d::") ? Role::kFrame : Role::kCommCall;
      case OpKind::kMetadata:
        if (below.work) {
          return Role::kFrame;
        }
        break;
      case OpKind::kWork:
      case OpKind::kWait:
        break;
    }
    // Without a host record there are no arguments. Seen where an exception ended the operation
    // before it computed anything (activation recomputation that stops early).
    return below.comm || below.subclass || below.cast || op.host < 0 ? Role::kFrame : Role::kNode;
  }

  void CountUnknown(const Operation& op, const OpInfo& info) {
    // Autograd's own frames and user annotations are no operators.
    if (op.annotation || op.host < 0 || op.name->find("::") == std::string::npos ||
        rank_.HostOf(op)->scope != Scope::kFunction) {
      return;
    }
    rank_.diagnostics.Count("unknown_operator", fmt::format("{}: {} taken as {}", rank_.label,
                                                            *op.name, Name(info.kind)));
  }

  RankCapture& rank_;
  const std::vector<Operation>& list_;
  std::vector<Classified>& out_;
  std::unordered_map<const std::string*, std::optional<OpInfo>> known_;
  std::vector<Below> below_;
  std::vector<bool> unknown_;
};

}  // namespace

void Classify(RankCapture& rank) { Classifier(rank).Run(); }

}  // namespace reprise::pytorch
