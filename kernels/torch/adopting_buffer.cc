#include "kernels/torch/adopting_buffer.h"

#include <utility>

namespace reprise {

void AdoptingMemory::FreeAdopted() {
  adopter_ = nullptr;
  if (adopted_.owner != nullptr) {
    Free(std::exchange(adopted_, {}));
  }
}

std::int64_t AdoptingBuffer::size_bytes() const {
  return HasAdopted() ? memory_->adopted_.bytes : memory_->bytes_;
}

Result<std::byte*> AdoptingBuffer::Data() const {
  return HasAdopted() ? Result<std::byte*>(memory_->adopted_.data) : memory_->Own();
}

bool AdoptingBuffer::Adopt(AdoptedBytes result) {
  if (!aliased_) {
    return false;
  }
  memory_->FreeAdopted();
  memory_->adopter_ = this;
  memory_->adopted_ = std::move(result);
  return true;
}

void AdoptingBuffer::UserIsDone() {
  if (users_left_.fetch_sub(1) != 1) {
    return;
  }
  users_left_ = users_;  // the next iteration begins after all of this one's calls
  if (only_tasks_ && HasAdopted()) {
    memory_->FreeAdopted();
  }
}

}  // namespace reprise
