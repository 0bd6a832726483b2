seed=$1; secs=$2; shift 2
for room in "$@"; do timeout $((secs+40)) python /tmp/e15-adv/adversary.py $room $seed $secs > /tmp/e15-adv/out-$room-$seed.txt 2>&1; rc=$?; echo "$room rc=$rc" >> /tmp/e15-adv/status.txt; if [ $rc -ne 0 ]; then cat /tmp/e15-adv/rushlight-$room-$seed.log >> /tmp/e15-adv/status.txt; echo >> /tmp/e15-adv/status.txt; fi; done
