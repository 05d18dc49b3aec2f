// One object for each thread that asks: what parses a batch of a file is used again for the next.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace reprise {

// Thread-safe. The objects live as long as this one; a lock is taken for each call.
template <typename T>
class PerThread {
 public:
  explicit PerThread(std::function<std::unique_ptr<T>()> make =
                         [] { return std::make_unique<T>(); })
      : make_(std::move(make)) {}
  // The calling thread's own, made when it first asks.
  [[nodiscard]] T& Mine() {
    const std::scoped_lock lock(mutex_);
    std::unique_ptr<T>& mine = objects_[std::this_thread::get_id()];
    if (mine == nullptr) {
      mine = make_();
    }
    return *mine;
  }

 private:
  std::function<std::unique_ptr<T>()> make_;
  std::mutex mutex_;
  std::map<std::thread::id, std::unique_ptr<T>> objects_;
};

}  // namespace reprise
