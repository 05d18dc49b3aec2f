// What rocprofv3 records, whichever form its results have: a database (rocpd) or JSON.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace reprise::pytorch {

// Where a record stands, for what is said of a damaged one.
struct RocprofPlace {
  std::string_view list;     // "table rocpd_region_0192", "list kernel_dispatch"
  std::uint64_t record = 0;  // counted from 1
};

// Views hold until the next record. Times are ns of the host's clock since it started.
struct RocprofKernel {
  std::string_view name;
  std::optional<std::int64_t> start_ns, end_ns;
  std::int64_t device = 0;  // the process's number of the GPU
  std::int64_t queue = 0, stream = 0;
  std::optional<std::int64_t> correlation;  // of the call that dispatched it; 0: of none
  std::optional<std::int64_t> dispatch;
  std::array<std::int64_t, 3> grid = {};       // work-items
  std::array<std::int64_t, 3> workgroup = {};  // work-items
  std::optional<std::int64_t> lds_bytes, registers;
};

struct RocprofCopy {
  std::string_view direction;            // "MEMORY_COPY_HOST_TO_DEVICE"
  std::optional<bool> from_gpu, to_gpu;  // which say it first; nothing: not known
  std::optional<std::int64_t> start_ns, end_ns;
  std::int64_t device = 0, stream = 0;
  std::optional<std::int64_t> correlation;
  std::optional<std::int64_t> bytes;
};

using RocprofArguments = std::vector<std::pair<std::string, std::string>>;  // name, value

// The arguments that are read: of RCCL's calls, and of HIP's that name streams and events.
inline constexpr std::array<std::string_view, 10> kUsedArguments = {
    "count", "sendcount", "recvcount", "datatype", "peer",
    "root",  "nranks",    "stream",    "hStream",  "event"};
[[nodiscard]] bool IsUsedArgument(std::string_view name);

// A call of the host's, or a range that it marked.
struct RocprofCall {
  std::string_view domain;   // "HIP_RUNTIME_API_EXT", "MARKER_CORE_RANGE_API", "RCCL_API"
  std::string_view name;     // of the function
  std::string_view message;  // that a range was marked with
  std::optional<std::int64_t> start_ns, end_ns;
  std::int64_t thread = 0;
  std::optional<std::int64_t> correlation;
  const RocprofArguments* arguments = nullptr;  // nullptr: not recorded
};

struct RocprofGpu {
  std::int64_t number = 0;
  std::string name;
};

// A process that used a GPU.
struct RocprofProcess {
  std::int64_t number = -1;  // the host's; -1: not known
  std::int64_t device = -1;  // that it used first
  std::string host;          // empty: not recorded
  // As the launcher told the process (RANK, WORLD_SIZE, …); -1: not recorded.
  std::int32_t rank = -1, world_size = -1;
  std::vector<RocprofGpu> gpus;
  // Which records of the file are its own: those of the tables with this ending of their names and
  // this "pid", or of the entry with this index.
  std::string tables;
  std::int64_t own = 0;
  // Of a process in JSON, which has them in later lists: RocprofReader's.
  bool has_hip_calls = false;
  std::int64_t rccl_members = 0;
};

// The variables of an environment by which launchers number the processes of a job, as an object of
// JSON: sets rank and world_size, where they agree. Other variables are not looked at.
void SetRank(std::string_view environment, RocprofProcess& process);

class RocprofEvents;

// Reads the records of one process.
class RocprofReader {
 public:
  virtual ~RocprofReader() = default;
  RocprofReader() = default;
  RocprofReader(const RocprofReader&) = delete;
  RocprofReader& operator=(const RocprofReader&) = delete;

  // The next record becomes events, or none. False: there is none.
  [[nodiscard]] virtual Result<bool> Append(RocprofEvents& events) = 0;
  bool has_hip_calls = false;     // calls of HIP are recorded
  std::int64_t rccl_members = 0;  // of the only communicator of the process; 0: not known
};

}  // namespace reprise::pytorch
