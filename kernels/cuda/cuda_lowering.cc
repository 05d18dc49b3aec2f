#include "kernels/cuda/cuda_lowering.h"

#include <algorithm>

#include "kernels/cuda/cuda_stream.h"

namespace reprise {
namespace {

// A call's launches of our programs, for where PyTorch refuses it.
class OwnLaunches {
 public:
  OwnLaunches(Device& device, Result<std::vector<Launch>> launches)
      : device_(device), launches_(std::move(launches)) {}

  // Within a task.
  Status Enqueue() {
    if (!launches_) {
      return tl::unexpected<Error>(launches_.error());
    }
    for (std::size_t i = 0; i < launches_->size(); ++i) {
      if (i == prepared_.size()) {
        REPRISE_ASSIGN(auto launch, device_.Prepare((*launches_)[i]));
        prepared_.push_back(std::move(launch));
      }
      REPRISE_TRY(CudaStream::Current()->EnqueueInTask(*prepared_[i]));
    }
    return {};
  }

 private:
  Device& device_;
  const Result<std::vector<Launch>> launches_;
  std::vector<std::unique_ptr<PreparedLaunch>> prepared_;
};

// Each buffer of the call once.
std::vector<CudaBuffer*> BuffersIn(const OpCall& call, const Bindings& memory) {
  std::vector<CudaBuffer*> used;
  for (const ValueList* values : {&call.inputs, &call.outputs}) {
    for (const TensorDesc* tensor : TensorsIn(*values)) {
      auto* buffer = dynamic_cast<CudaBuffer*>(memory.Find(tensor->incarnation));
      if (buffer != nullptr && std::ranges::find(used, buffer) == used.end()) {
        used.push_back(buffer);
      }
    }
  }
  return used;
}

}  // namespace

Result<std::vector<Launch>> CudaLowering::Lower(const Kernel& kernel, const OpCall& call,
                                                const LowerContext& context) const {
  Result<std::vector<Launch>> own = programs_.Lower(kernel, call, context);
  if (torch_ == nullptr) {
    return own;
  }
  std::vector<CudaBuffer*> used = BuffersIn(call, context.memory);
  const auto own_launches = std::make_shared<OwnLaunches>(device_, own);
  auto task =
      torch_->TaskOrElse(call, context.memory, [own_launches] { return own_launches->Enqueue(); });
  if (!task && !own) {
    return own;
  }
  for (CudaBuffer* buffer : used) {
    buffer->AddUser();
  }
  const auto done = [used] {
    for (CudaBuffer* buffer : used) {
      buffer->UserIsDone();
    }
  };
  if (!task) {
    own->push_back(HostTask{.run = [] { return Status(); }, .after = done});
    return own;
  }
  // A result that was adopted is used from then on, hence after the call.
  task->run = [library = torch_->library(), run = std::move(task->run), used] {
    const CudaHandle stream = CudaStream::Current()->handle();
    Status status = library->OnStream(stream, run);
    for (const CudaBuffer* buffer : used) {
      buffer->UsedOn(stream);
    }
    return status;
  };
  task->after = done;
  return std::vector<Launch>{std::move(*task)};
}

}  // namespace reprise
