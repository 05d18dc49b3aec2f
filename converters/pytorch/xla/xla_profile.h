// A profile of XLA (`<host>.xplane.pb`): its devices, and all of it but its events.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "converters/pytorch/xla/hlo_modules.h"
#include "converters/pytorch/xla/xplane.h"
#include "converters/pytorch/xla/xspace_reader.h"
#include "core/result.h"

namespace reprise::pytorch {

// Whether the file is XLA's profile, perhaps packed. By its content.
[[nodiscard]] bool IsXlaProfile(const std::string& path);

struct XlaDevice {
  std::int64_t ordinal = 0;  // as "/device:TPU:3" numbers it
  std::int64_t plane = -1;   // its number in the file
  // Devices of XLA's CPU back end have no planes: their work is on threads of the host's.
  bool on_host = false;
};

// What a file's planes are for.
[[nodiscard]] bool IsDevicePlane(std::string_view name, std::int64_t& ordinal);
inline constexpr std::string_view kHostPlane = "/host:CPU";
// Lines of a device whose events are operations, one after the other. Others hold what encloses
// them (steps, modules) or shows them again by name and source.
[[nodiscard]] bool IsOperationsLine(std::string_view line);
// Operations that run beside them.
[[nodiscard]] bool IsAsyncLine(std::string_view line);
[[nodiscard]] bool IsStreamLine(std::string_view line);

inline constexpr std::int64_t kMostXlaDevices = 4'096;  // of one host

class XlaProfile {
 public:
  // Bad input: damaged.
  static Result<XlaProfile> Describe(const std::string& path);
  // As above, with what the events of one device and of the host refer to.
  static Result<XlaProfile> Read(const std::string& path, const XlaDevice& device);

  // Those with work, by number.
  [[nodiscard]] const std::vector<XlaDevice>& devices() const { return devices_; }
  [[nodiscard]] std::size_t idle_devices() const { return idle_devices_; }
  [[nodiscard]] const std::string& host() const { return host_; }
  [[nodiscard]] std::int64_t base_ns() const { return base_ns_; }  // that lines count from
  [[nodiscard]] const std::vector<XPlane>& planes() const { return planes_; }
  [[nodiscard]] const XPlane& Plane(std::int64_t number) const {
    return planes_[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] std::int64_t host_plane() const { return host_plane_; }  // -1: none
  [[nodiscard]] const HloModule* Module(std::int64_t program) const {
    const auto found = modules_.find(program);
    return found == modules_.end() ? nullptr : &found->second;
  }

 private:
  struct Kept {
    bool all = false;
    std::int64_t plane = -1;  // the device's
  };
  Status ReadAll(const std::string& path, const Kept& kept);
  [[nodiscard]] Status AddPlaneField(const XSpaceReader& reader, const XSpaceField& field,
                                     const Kept& kept);
  [[nodiscard]] bool AddModule(std::string_view entry);
  void FindDevices();
  Status FindHostDevices(const std::string& path);
  void FindBase();

  std::vector<XPlane> planes_;
  std::vector<XlaDevice> devices_;
  std::size_t idle_devices_ = 0;
  std::string host_;
  std::int64_t base_ns_ = 0, host_plane_ = -1;
  std::uint64_t kept_ = 0;  // lines and entries of maps
  std::map<std::int64_t, HloModule> modules_;
};

}  // namespace reprise::pytorch
