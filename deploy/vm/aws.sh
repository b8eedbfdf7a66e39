#!/usr/bin/env bash
# An instance of Amazon EC2 for each attempt. The instance of the attempt before is terminated.
#
#   export VM_RUN=tuesday VM_TEMPLATE=LaunchTemplateId=lt-0abc,Version=1 VM_ADDRESS=private
#   apprentice run SUITE --world vm --vm-reset 'deploy/vm/aws.sh reset'    # and vm.release = "deploy/vm/aws.sh release"
#   deploy/vm/aws.sh clear                                                 # terminates what is left of this run
#
# Needs the AWS CLI, which finds region and credentials by itself (AWS_REGION, AWS_PROFILE, a role). Each instance has the tags
# apprentice-run and apprentice-slot from its start, and one that does not come up is terminated. A run that is killed leaves its
# instances: `clear` terminates them.
#
#   VM_RUN       a word for this run, unique in your account and region
#   VM_ADDRESS   private or public: which of its addresses this machine reaches
#   VM_TEMPLATE  a launch template, as the CLI's --launch-template takes it; or all of
#   VM_AMI, VM_TYPE, VM_SUBNET, VM_SECURITY_GROUP   image, type such as t3.large, subnet, and the group that admits ports 5000, 9222
#                and 8080 from your machines alone: whoever reaches port 5000 commands the instance
set -euo pipefail
verb=${1:-}
# shellcheck source=deploy/vm/common.sh
. "$(dirname "$0")/common.sh"
begin reset release clear
export AWS_PAGER=
tool aws "install the AWS CLI"
run_name
# terminate FILTER...: the instances of this run.
terminate() {
  local found
  found=$(within aws ec2 describe-instances --query 'Reservations[].Instances[].InstanceId' --output text --filters \
    "Name=tag:apprentice-run,Values=$VM_RUN" Name=instance-state-name,Values=pending,running,stopping,stopped "$@")
  # shellcheck disable=SC2086
  [ -z "$found" ] || within aws ec2 terminate-instances --output text --instance-ids $found
}
if [ "$verb" = clear ]; then
  terminate
  exit
fi
lock "$VM_RUN-$slot"
if [ "$verb" = release ]; then
  terminate "Name=tag:apprentice-slot,Values=$slot"
  exit
fi

need VM_ADDRESS "private inside of the instance's network, public from elsewhere"
options=()
case $VM_ADDRESS in
  private) field=PrivateIpAddress ;;
  public) field=PublicIpAddress ;;
  *) fail "VM_ADDRESS is '$VM_ADDRESS': private or public" ;;
esac
if [ -n "${VM_TEMPLATE:-}" ]; then
  options+=(--launch-template "$VM_TEMPLATE")
else
  for variable in VM_AMI VM_TYPE VM_SUBNET VM_SECURITY_GROUP; do
    need "$variable" "set VM_TEMPLATE, or all of VM_AMI, VM_TYPE, VM_SUBNET and VM_SECURITY_GROUP"
  done
  options+=(--image-id "$VM_AMI" --instance-type "$VM_TYPE" --subnet-id "$VM_SUBNET" --security-group-ids "$VM_SECURITY_GROUP")
  if [ "$VM_ADDRESS" = public ]; then options+=(--associate-public-ip-address); fi
fi

terminate "Name=tag:apprentice-slot,Values=$slot"
undo terminate "Name=tag:apprentice-slot,Values=$slot"
tags="{Key=apprentice-run,Value=$VM_RUN},{Key=apprentice-slot,Value=$slot},{Key=Name,Value=apprentice-$VM_RUN-$slot}"
instance=$(within aws ec2 run-instances --count 1 "${options[@]}" --instance-initiated-shutdown-behavior terminate \
  --tag-specifications "ResourceType=instance,Tags=[$tags]" \
  --query 'Instances[0].InstanceId' --output text)
within aws ec2 wait instance-running --instance-ids "$instance"
address=$(within aws ec2 describe-instances --instance-ids "$instance" --query "Reservations[0].Instances[0].$field" --output text)
[[ $address =~ ^[0-9]+(\.[0-9]+){3}$ ]] || fail "the instance $instance has no $VM_ADDRESS address: its subnet or the template gives none"
answer "http://$address:5000"
