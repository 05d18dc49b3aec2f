#include "replayer/engine/pacer.h"

#include <utility>

namespace reprise {
namespace {

thread_local const Pacer* current_pacer = nullptr;

}  // namespace

Pacer::Pacer(std::function<void(std::uint32_t)> run)
    : run_(std::move(run)), thread_([this] { Loop(); }) {}

Pacer::~Pacer() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Pacer::Post(std::uint32_t node) {
  {
    const std::lock_guard lock(mutex_);
    nodes_.push_back(node);
  }
  changed_.notify_all();
}

void Pacer::Drain() {
  std::unique_lock lock(mutex_);
  nodes_.clear();
  changed_.wait(lock, [&] { return !busy_; });
}

bool Pacer::IsElsewhere() const { return current_pacer != nullptr && current_pacer != this; }

void Pacer::Loop() {
  current_pacer = this;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || !nodes_.empty(); });
    if (stop_) {
      return;
    }
    const std::uint32_t node = nodes_.front();
    nodes_.pop_front();
    busy_ = true;
    lock.unlock();
    run_(node);
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace reprise
