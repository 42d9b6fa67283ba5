-- wrk's requests: the same question for 1,000 zones in turn, in an order that jumps.
-- usage: wrk ... -s zones.lua URL -- TARGET KEY [ZONES]     "ZONE" in TARGET stands for the zone
local requests, n, at = {}, 0, 0

function init(args)
  local zones = tonumber(args[3] or "1000")
  for i = 1, 1000 do
    local zone = (i * 617 % 1000 + 1) * zones / 1000
    local target = args[1]:gsub("ZONE", string.format("%d", zone))
    requests[i] = wrk.format("GET", target, { AccessKey = args[2] })
  end
  n = #requests
end

function request()
  at = at % n + 1
  return requests[at]
end
