"""Cameras of nuScenes and Argoverse 2: images of frames, and polylines projected into them.

``open_rig`` reads the calibration, the poses and the paths of images from the files of the data set. ``ground_lines``
brings polylines of a frame to the ground of the vehicle, and ``project`` brings them into an image.
"""
