// Dependency-driven scheduling on TBB: runs every node once, after all nodes that it waits for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "replayer/plan/dependency_graph.h"

namespace reprise {

// What a node's body returns.
enum class NodeState : std::uint8_t {
  kDone,     // finished; its successors may start
  kPending,  // another thread (communication, pacer) calls Scheduler::Complete
};

// Bodies run as TBB tasks and must never block (MPI, OpenCL, time): on two cores an arena has one
// worker, and two blocked tasks would deadlock across ranks. Works with an arena of size 1.
class Scheduler {
 public:
  using Body = std::function<NodeState(std::uint32_t node)>;

  // `graph` must outlive the scheduler. `workers`: TBB arena size, ≥ 1.
  Scheduler(const DependencyGraph& graph, int workers);
  ~Scheduler();

  // Runs the whole graph once; returns when every node is done, or soon after Stop(). The calling
  // thread only waits. False if stopped (bodies may still be pending elsewhere: the caller must
  // silence them before it runs again).
  [[nodiscard]] bool Run(const Body& body);
  // Marks a pending node done. Any thread; exactly once per pending node.
  void Complete(std::uint32_t node);
  // The same; the calling thread then runs what became ready itself, as a task would, instead of
  // waking another thread for it. For threads that may take that long.
  void CompleteHere(std::uint32_t node);
  // No further body starts. Any thread.
  void Stop();
  [[nodiscard]] std::uint32_t remaining() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace reprise
