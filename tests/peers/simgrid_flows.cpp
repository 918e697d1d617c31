// All messages of a file, begun at once on a torus, by SimGrid's flow model with links in proportion to 1 / latency.
// usage: simgrid_flows FILE [--cfg=...]
// FILE: the number of dimensions, the extents (that of the first changes fastest), the latency of a link in seconds;
// then source, target and bytes of every message. Links have 1 GB/s in each direction.
// It prints the simulated time in us and the CPU seconds of the simulation, without reading and making the platform.
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <simgrid/s4u.hpp>

namespace sg = simgrid::s4u;
using simgrid::kernel::routing::NetPoint;

struct Message {
  int source, target;
  double size_bytes;
};

static std::pair<NetPoint*, NetPoint*> host(sg::NetZone* zone, const std::vector<unsigned long>&, unsigned long number)
{
  auto* made = zone->create_host("host-" + std::to_string(number), 1e9)->seal();
  return {made->get_netpoint(), nullptr};
}

int main(int argc, char** argv)
{
  sg::Engine engine(&argc, argv);
  for (const char* setting : {"network/model:CM02", "cpu/model:Cas01", "network/weight-S:0", "network/TCP-gamma:0",
                              "network/crosstraffic:0"})
    sg::Engine::set_config(setting);

  std::ifstream file(argv[1]);
  unsigned dimensions;
  file >> dimensions;
  std::vector<unsigned long> extents(dimensions);
  unsigned long hosts = 1;
  for (auto& extent : extents) {
    file >> extent;
    hosts *= extent;
  }
  double latency_s;
  file >> latency_s;
  sg::create_torus_zone("torus", nullptr, extents, {host, {}, {}}, 1e9, latency_s,
                        sg::Link::SharingPolicy::SPLITDUPLEX)
      ->seal();
  std::vector<sg::Host*> host_of(hosts);
  for (unsigned long number = 0; number < hosts; number++)
    host_of[number] = engine.host_by_name("host-" + std::to_string(number));

  std::vector<Message> messages;
  Message message;
  while (file >> message.source >> message.target >> message.size_bytes)
    messages.push_back(message);

  sg::Actor::create("all", host_of[0], [&] {
    std::vector<sg::CommPtr> under_way;
    for (const auto& [source, target, size_bytes] : messages)
      under_way.push_back(
          sg::Comm::sendto_async(host_of[source], host_of[target], static_cast<uint64_t>(size_bytes)));
    sg::Comm::wait_all(under_way);
  });
  const clock_t begin = clock();
  engine.run();
  std::printf("%.9f %.6f\n", sg::Engine::get_clock() * 1e6, double(clock() - begin) / CLOCKS_PER_SEC);
}
