#include "tests/cli/simulated_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>

namespace reprise {
namespace {

constexpr int kMain = 100;
constexpr int kAutograd = 101;
constexpr int kCompute = 7;
constexpr int kNccl = 20;

class Simulation {
 public:
  Simulation(int buckets, unsigned seed) : buckets_(buckets), random_(seed) {}

  SimulatedGpu Run(int steps) {
    for (int step = 0; step < steps; ++step) {
      const double begin_us = now_us_;
      Forward();
      Backward();
      Optimizer();
      // Nothing of a step runs into the next.
      const double end_us = std::max({now_us_ + 5, free_us_[kCompute], free_us_[kNccl]}) + 4;
      Event("cudaDeviceSynchronize", "cuda_runtime", kMain, now_us_, end_us - now_us_,
            fmt::format("\"correlation\":{}", NewId()));
      now_us_ = end_us + 3;
      Event(fmt::format("ProfilerStep#{}", step), "user_annotation", kMain, begin_us,
            now_us_ - begin_us, "");
      now_us_ += 20;
    }
    out_.kineto = R"({"schemaVersion":1,"distributedInfo":{"rank":0},"baseTimeNanoseconds":0,)"
                  R"("traceEvents":[)" +
                  events_ + "]}";
    return std::move(out_);
  }

 private:
  double Between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  std::int64_t NewId() { return next_id_++; }

  void Event(const std::string& name, const char* category, int tid, double at_us, double us,
             const std::string& args) {
    events_ += fmt::format(
        R"({}{{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{{}}}}})",
        events_.empty() ? "" : ",", category, name, tid, at_us, us, args);
  }

  // Work of a stream: after its launch, what is before it there, and what the stream waits for.
  std::int64_t Kernel(const std::string& name, int stream, double launched_us, double us,
                      std::int64_t correlation) {
    double start_us = std::max(launched_us + Between(5, 7), free_us_[stream] + 1);
    if (const auto wait = waits_for_.find(stream); wait != waits_for_.end()) {
      start_us = std::max(start_us, wait->second.second + Between(1, 2));
      out_.waits.push_back({wait->second.first, correlation});
      waits_for_.erase(wait);
    }
    free_us_[stream] = start_us + us;
    last_[stream] = correlation;
    Event(name, "kernel", stream, start_us, us,
          fmt::format(R"("device":0,"stream":{},"correlation":{})", stream, correlation));
    ++out_.kernels;
    return correlation;
  }

  void Runtime(const char* name, int tid, double us, std::int64_t correlation) {
    Event(name, "cuda_runtime", tid, now_us_, us, fmt::format("\"correlation\":{}", correlation));
    now_us_ += us;
  }

  // An operation that launches one kernel.
  void Operation(const char* name, int tid, double kernel_us) {
    const double begin_us = now_us_;
    now_us_ += Between(2, 5);
    const std::int64_t id = NewId();
    const double launch_us = now_us_;
    Runtime("cudaLaunchKernel", tid, Between(3, 5), id);
    Kernel("kernel_" + std::string(name), kCompute, launch_us, kernel_us, id);
    now_us_ += Between(1, 3);
    Event(name, "cpu_op", tid, begin_us, now_us_ - begin_us, "");
    now_us_ += Between(1, 4);
  }

  void StreamWait(int tid, int waits, int source) {
    waits_for_[waits] = {last_[source], free_us_[source]};
    Runtime("cudaStreamWaitEvent", tid, 1, NewId());
  }

  void AllReduce(int tid) {
    const double begin_us = now_us_;
    now_us_ += 2;
    Runtime("cudaEventRecord", tid, 1, NewId());
    StreamWait(tid, kNccl, kCompute);
    const std::int64_t id = NewId();
    const double launch_us = now_us_;
    Runtime("cudaLaunchKernelExC", tid, 5, id);
    Kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", kNccl, launch_us,
           Between(60, 200), id);
    ++out_.transfers;
    Runtime("cudaEventRecord", tid, 1, NewId());
    now_us_ += 1;
    Event("record_param_comms", "cpu_op", tid, begin_us, now_us_ - begin_us, "");
    now_us_ += Between(2, 4);
  }

  void Forward() {
    for (int i = 0; i < 2 * buckets_; ++i) {
      Operation("aten::mm", kMain, Between(10, 40));
      Operation("aten::relu", kMain, Between(3, 10));
    }
  }

  void Backward() {
    now_us_ += 60;  // autograd's thread wakes up
    for (int bucket = 0; bucket < buckets_; ++bucket) {
      const double node_us = now_us_;
      now_us_ += 1;
      Operation("aten::threshold_backward", kAutograd, Between(5, 15));
      Operation("aten::mm", kAutograd, Between(20, 60));
      now_us_ += 1;
      Event("autograd::engine::evaluate_function: MmBackward0", "cpu_op", kAutograd, node_us,
            now_us_ - node_us, "");
      now_us_ += 2;
      AllReduce(kAutograd);
    }
    StreamWait(kAutograd, kCompute, kNccl);  // DDP: before the gradients are used
    now_us_ += 70;                           // and the main thread
  }

  void Optimizer() {
    for (int i = 0; i < 3; ++i) {
      Operation("aten::_foreach_add_", kMain, Between(10, 30));
    }
  }

  int buckets_;
  std::mt19937 random_;
  SimulatedGpu out_;
  std::string events_;
  double now_us_ = 1'000;
  std::int64_t next_id_ = 1;
  std::map<int, double> free_us_;                             // by stream
  std::map<int, std::int64_t> last_;                          // correlation of its last kernel
  std::map<int, std::pair<std::int64_t, double>> waits_for_;  // stream → kernel, its end
};

}  // namespace

SimulatedGpu SimulateTraining(int steps, int buckets, unsigned seed) {
  return Simulation(buckets, seed).Run(steps);
}

}  // namespace reprise
