"""Datasets of torchvision that are not here yet: programs and libraries import them; making one refuses."""

from __future__ import annotations

from ...base.absent import AbsentNames

LATER = AbsentNames(
    __package__,
    {
        "": """CLEVRClassification CREStereo Caltech101 Caltech256 CarlaStereo CelebA Cityscapes Country211 DTD
        EMNIST ETH3DStereo EuroSAT FER2013 FGVCAircraft FallingThingsStereo Flickr30k Flickr8k Flowers102
        FlyingChairs FlyingThings3D Food101 GTSRB HD1K HMDB51 INaturalist ImageNet Imagenette InStereo2k
        Kinetics Kitti Kitti2012Stereo Kitti2015Stereo KittiFlow LFWPairs LFWPeople LSUN LSUNClass
        Middlebury2014Stereo MovingMNIST Omniglot OxfordIIITPet PCAM PhotoTour Places365 QMNIST RenderedSST2
        SBDataset SBU SEMEION STL10 SUN397 SVHN SceneFlowStereo Sintel SintelStereo StanfordCars UCF101 USPS
        WIDERFace
        wrap_dataset_for_transforms_v2""",
    },
    "ImageFolder and DatasetFolder read any folder of images; see docs/vision.md for the datasets that are here",
)
