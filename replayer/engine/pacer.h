// A thread of its own for the nodes of one recorded thread that must wait (for the device, for a
// deadline), so that no TBB task ever does. The pacer also runs the nodes that follow such a node.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace reprise {

class Pacer {
 public:
  explicit Pacer(std::function<void(std::uint32_t node)> run);
  ~Pacer();  // finishes the current node, drops the others
  void Post(std::uint32_t node);
  // Drops posted nodes that have not started; returns when no node is running.
  void Drain();
  // The calling thread belongs to another pacer, which has its own deadlines.
  [[nodiscard]] bool IsElsewhere() const;

 private:
  void Loop();

  std::function<void(std::uint32_t)> run_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::uint32_t> nodes_;
  bool busy_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace reprise
